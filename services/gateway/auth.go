package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// Role is what a client may do; each includes those before it.
type Role int

// The roles.
const (
	Anybody Role = iota // no key needed
	Read                // look
	Write               // register, start, feed, control, complete
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

// APIKey is a static key, known by the SHA-256 of its text only.
type APIKey struct {
	Name   string
	SHA256 [sha256.Size]byte
	Role   Role
}

// ParseAPIKey reads a key's setting: NAME:ROLE:SHA256, the last in hex.
func ParseAPIKey(s string) (APIKey, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 || parts[0] == "" {
		return APIKey{}, errors.New("want NAME:ROLE:SHA256, of which only the key's SHA-256 is known here, never the key")
	}
	role, err := ParseRole(parts[1])
	if err != nil {
		return APIKey{}, fmt.Errorf("API key %s: %w", parts[0], err)
	}
	sum, err := hex.DecodeString(parts[2])
	if err != nil || len(sum) != sha256.Size {
		return APIKey{}, fmt.Errorf("API key %s: want the SHA-256 of the key in hex", parts[0])
	}
	return APIKey{parts[0], [sha256.Size]byte(sum), role}, nil
}

// authorize checks the request's key against the role that a route needs.
// Without configured keys everybody may do everything.
func (g *Gateway) authorize(r *http.Request, need Role) error {
	if len(g.cfg.APIKeys) == 0 || need == Anybody {
		return nil
	}
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return refuse("unauthenticated", "give an API key: Authorization: Bearer KEY")
	}
	sum := sha256.Sum256([]byte(key))
	have := Anybody
	for _, k := range g.cfg.APIKeys { // all of them: the time says nothing about which
		if subtle.ConstantTimeCompare(sum[:], k.SHA256[:]) == 1 {
			have = k.Role
		}
	}
	switch {
	case have == Anybody:
		return refuse("unauthenticated", "the API key is not known")
	case have < need:
		return refuse("forbidden", fmt.Sprintf("this needs the role %s, the key has %s", need, have))
	}
	return nil
}

// guarded keeps web pages of others out: a page must not send requests across
// origins, and where there are no keys the name it was reached by must be one
// of this machine, so that no foreign name can be pointed at it.
func (g *Gateway) guarded(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	loopbackOnly := len(g.cfg.APIKeys) == 0 && !g.cfg.Insecure
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := origins.Check(r); err != nil {
			g.problem(w, refuse("cross_origin", "requests of web pages of another origin are not served"))
			return
		}
		if loopbackOnly && !isLoopback(r.Host) {
			g.problem(w, refuse("host_not_allowed", "without API keys the gateway answers to localhost and loopback addresses only"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
