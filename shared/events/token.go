package events

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"

	"github.com/heddle-run/heddle/shared/wire"
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

// Fields implements wire.Message.
func (t *Token) Fields(c *wire.Codec) {
	wire.String(c, 1, "workflow", &t.Workflow)
	wire.Nested(c, 2, "run", &t.Run)
	wire.Int(c, 3, "runnable", &t.Runnable)
	wire.Int(c, 4, "attempt", &t.Attempt)
	wire.Nested(c, 5, "decided", &t.Decided)
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
	mac   hash.Hash
	sum   [sha256.Size]byte
	token Token // the one at work
}

// NewSealer makes a sealer of the deployment's key.
func NewSealer(k Key) *Sealer { return &Sealer{mac: hmac.New(sha256.New, k)} }

// Seal encodes t behind its MAC.
func (s *Sealer) Seal(t Token) []byte {
	s.token = t
	body := wire.Append(make([]byte, macSize, macSize+len(t.Workflow)+48), &s.token)
	copy(body, s.sign(body[macSize:]))
	return body
}

// Open checks a sealed token and returns it.
func (s *Sealer) Open(sealed []byte) (Token, error) {
	if len(sealed) <= macSize || !hmac.Equal(sealed[:macSize], s.sign(sealed[macSize:])) {
		return Token{}, ErrToken
	}
	s.token = Token{}
	err := s.token.peek(sealed)
	return s.token, err
}

func (s *Sealer) sign(body []byte) []byte {
	s.mac.Reset()
	s.mac.Write(body)
	return s.mac.Sum(s.sum[:0])[:macSize]
}

// PeekToken reads a sealed token without checking its MAC: enough to route it.
func PeekToken(sealed []byte) (Token, error) {
	var t Token
	err := t.peek(sealed)
	return t, err
}

func (t *Token) peek(sealed []byte) error {
	if len(sealed) <= macSize {
		return ErrToken
	}
	if err := wire.Unmarshal(sealed[macSize:], t); err != nil || t.Workflow == "" {
		return ErrToken
	}
	return nil
}

// TokenText is the one URL-safe string that a sealed token is for people.
func TokenText(sealed []byte) string { return base64.RawURLEncoding.EncodeToString(sealed) }

// ParseTokenText is the inverse of TokenText.
func ParseTokenText(s string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) <= macSize {
		return nil, ErrToken
	}
	return b, nil
}
