package events

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"

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
func (k Key) Seal(t Token) []byte {
	body := wire.Append(make([]byte, macSize, macSize+64), &t)
	copy(body, k.mac(body[macSize:]))
	return body
}

// Open checks a sealed token and returns it.
func (k Key) Open(sealed []byte) (Token, error) {
	if len(sealed) <= macSize || !hmac.Equal(sealed[:macSize], k.mac(sealed[macSize:])) {
		return Token{}, ErrToken
	}
	return PeekToken(sealed)
}

func (k Key) mac(body []byte) []byte {
	h := hmac.New(sha256.New, k)
	h.Write(body)
	return h.Sum(nil)[:macSize]
}

// PeekToken reads a sealed token without checking its MAC: enough to route it.
func PeekToken(sealed []byte) (Token, error) {
	var t Token
	if len(sealed) <= macSize {
		return t, ErrToken
	}
	if err := wire.Unmarshal(sealed[macSize:], &t); err != nil || t.Workflow == "" {
		return t, ErrToken
	}
	return t, nil
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
