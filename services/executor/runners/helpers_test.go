package runners_test

import (
	"crypto/sha256"
	"encoding/hex"
)

// sum is the SHA-256 of a key's text.
func sum(text string) string {
	b := sha256.Sum256([]byte(text))
	return hex.EncodeToString(b[:])
}
