package events

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"math"
	"strings"
	"unicode/utf8"
)

// Token names one attempt and fences its outcome: only the token of an open
// attempt is accepted. Decided is the record that decided the attempt.
type Token struct {
	Workflow string
	Run      RunID
	Runnable RunnableID
	Attempt  uint32
	Decided  Position
}

// append encodes t behind b: its numbers as varints, then the workflow as it is.
// Every step makes and reads a token, so it is no wire.Message.
func (t *Token) append(b []byte) []byte {
	for _, n := range [...]uint64{t.Run.Epoch, t.Run.Seq, uint64(t.Runnable), uint64(t.Attempt), t.Decided.Epoch, t.Decided.Seq} {
		b = binary.AppendUvarint(b, n)
	}
	return append(b, t.Workflow...)
}

// parse is the inverse of append.
func (t *Token) parse(b []byte) error {
	var n [6]uint64
	for i := range n {
		var size int
		if n[i], size = binary.Uvarint(b); size <= 0 {
			return ErrToken
		}
		b = b[size:]
	}
	if n[3] > math.MaxUint32 || len(b) == 0 || !utf8.Valid(b) {
		return ErrToken
	}
	*t = Token{
		Workflow: string(b), Run: RunID{Epoch: n[0], Seq: n[1]}, Runnable: RunnableID(n[2]), Attempt: uint32(n[3]),
		Decided: Position{Epoch: n[4], Seq: n[5]},
	}
	return nil
}

// Key authenticates tokens: the deployment's secret, equal on all planners.
type Key []byte

const macSize = 16

// ErrToken is any token that is malformed or whose MAC is not ours.
var ErrToken = errors.New("invalid token")

// Seal encodes t behind its MAC (HMAC-SHA-256, first 16 bytes).
func (k Key) Seal(t Token) []byte { return NewSealer(k).Seal(t) }

// Open checks a sealed token and returns it.
func (k Key) Open(sealed []byte) (Token, error) { return NewSealer(k).Open(sealed) }

// Sealer seals and opens tokens with one key. It belongs to one goroutine.
type Sealer struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

// NewSealer makes a sealer of the deployment's key.
func NewSealer(k Key) *Sealer { return &Sealer{mac: hmac.New(sha256.New, k)} }

// Seal encodes t behind its MAC.
func (s *Sealer) Seal(t Token) []byte {
	body := t.append(make([]byte, macSize, macSize+len(t.Workflow)+48))
	copy(body, s.sign(body[macSize:]))
	return body
}

// Open checks a sealed token and returns it.
func (s *Sealer) Open(sealed []byte) (Token, error) {
	if len(sealed) <= macSize || !hmac.Equal(sealed[:macSize], s.sign(sealed[macSize:])) {
		return Token{}, ErrToken
	}
	return PeekToken(sealed)
}

func (s *Sealer) sign(body []byte) []byte {
	s.mac.Reset()
	s.mac.Write(body)
	return s.mac.Sum(s.sum[:0])[:macSize]
}

// PeekToken reads a sealed token without checking its MAC: enough to route it.
func PeekToken(sealed []byte) (Token, error) {
	var t Token
	if len(sealed) <= macSize {
		return t, ErrToken
	}
	err := t.parse(sealed[macSize:])
	return t, err
}

// tokenPrefix begins the text of a token: one that began with a dash would be taken for a
// flag on a command line.
const tokenPrefix = "t"

// TokenText is the one URL-safe string that a sealed token is for people.
func TokenText(sealed []byte) string {
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(sealed)
}

// ParseTokenText is the inverse of TokenText.
func ParseTokenText(s string) ([]byte, error) {
	text, prefixed := strings.CutPrefix(s, tokenPrefix)
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || !prefixed || len(b) <= macSize {
		return nil, ErrToken
	}
	return b, nil
}
