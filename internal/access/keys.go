package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Role is what a client may do; each includes those before it.
type Role int

// The roles.
const (
	Anybody Role = iota // no key needed
	Read                // look
	Write               // register, start, feed, control, complete, run attempts
	Operate             // partitions; what cannot be taken back: delete
)

// ParseRole reads a role's name.
func ParseRole(s string) (Role, error) {
	switch s {
	case "read":
		return Read, nil
	case "write":
		return Write, nil
	case "operate":
		return Operate, nil
	}
	return Anybody, fmt.Errorf("role %q: want read, write or operate", s)
}

func (r Role) String() string { return [...]string{"open", "read", "write", "operate"}[r] }

// Key is a static key, known by the SHA-256 of its text only.
type Key struct {
	Name   string
	SHA256 [sha256.Size]byte
	Role   Role
}

// ParseKey reads a key's setting: NAME:ROLE:SHA256, the last in hex.
func ParseKey(s string) (Key, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 || parts[0] == "" {
		return Key{}, errors.New("want NAME:ROLE:SHA256, of which only the key's SHA-256 is known here, never the key")
	}
	role, err := ParseRole(parts[1])
	if err != nil {
		return Key{}, fmt.Errorf("API key %s: %w", parts[0], err)
	}
	sum, err := hex.DecodeString(parts[2])
	if err != nil || len(sum) != sha256.Size {
		return Key{}, fmt.Errorf("API key %s: want the SHA-256 of the key in hex", parts[0])
	}
	return Key{parts[0], [sha256.Size]byte(sum), role}, nil
}

// Keys are those that are known. Without any everybody may do everything.
type Keys []Key

// Why a request is not served.
var (
	ErrNoKey      = errors.New("give an API key: Authorization: Bearer KEY")
	ErrUnknownKey = errors.New("the API key is not known")
	ErrRole       = errors.New("the API key may not do this")
)

// Authorize says whether who gives a key (empty: none) may do what needs a role. The error is ErrNoKey, ErrUnknownKey,
// or one that wraps ErrRole and says what is needed.
func (ks Keys) Authorize(key string, need Role) error {
	if len(ks) == 0 || need == Anybody {
		return nil
	}
	if key == "" {
		return ErrNoKey
	}
	sum := sha256.Sum256([]byte(key))
	have := Anybody
	for _, k := range ks { // all of them: the time says nothing about which
		if subtle.ConstantTimeCompare(sum[:], k.SHA256[:]) == 1 {
			have = k.Role
		}
	}
	switch {
	case have == Anybody:
		return ErrUnknownKey
	case have < need:
		return &RoleError{Need: need, Have: have}
	}
	return nil
}

// RoleError is an ErrRole.
type RoleError struct{ Need, Have Role }

func (e *RoleError) Error() string {
	return fmt.Sprintf("this needs the role %s, the key has %s", e.Need, e.Have)
}

// Is reports whether target is ErrRole.
func (*RoleError) Is(target error) bool { return target == ErrRole }

// Bearer is the key that a request gives in its header Authorization; empty: none.
func Bearer(r *http.Request) string {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if key == r.Header.Get("Authorization") {
		return ""
	}
	return key
}
