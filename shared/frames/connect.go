package frames

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// What a runner connects to: Path with the query parameters below.
const (
	Path            = "/v1/runners/connect"
	ProtocolVersion = 1

	QueryVersion  = "protocol_version" // ProtocolVersion
	QueryPool     = "pool"
	QueryKey      = "runner_key" // names the runner in its pool, over restarts of its process
	QueryEncoding = "encoding"   // json, which it is where it is not given, or binary
)

// Subprotocol is the sub-protocol of the WebSocket. A runner that cannot send the header
// Authorization, as a browser, offers its token as a second one (TokenProtocol); the server chooses
// Subprotocol, or none where none is offered.
const Subprotocol = "heddle.runner.v1"

const tokenProtocol = "heddle.token."

// TokenProtocol is the bearer token as a sub-protocol: what stands behind "heddle.token." is the
// token in base64url without padding.
func TokenProtocol(token string) string {
	return tokenProtocol + base64.RawURLEncoding.EncodeToString([]byte(token))
}

// ParseTokenProtocol finds the bearer token among the sub-protocols that are offered; empty: there is
// none.
func ParseTokenProtocol(offered []string) (string, error) {
	for _, p := range offered {
		if text, ok := strings.CutPrefix(p, tokenProtocol); ok {
			token, err := base64.RawURLEncoding.Strict().DecodeString(text)
			if err != nil {
				return "", fmt.Errorf("the token of a sub-protocol: %w", err)
			}
			return string(token), nil
		}
	}
	return "", nil
}

// Limits, unless a setting says otherwise.
const (
	DefaultMaxPayload = 1 << 20 // bytes of a frame

	MaxSlots      = 1000      // of a runner: a record of its pool gives all of its attempts up at once
	MaxName       = 255       // bytes of a pool, a runner's key and name, a task, an id
	MaxTaskNames  = 1000      // that a runner lists when it connects
	MaxMetadata   = 64 << 10  // bytes: of a runner's, and of all of its tasks'
	MaxToken      = 4 << 10   // bytes
	MaxKvKeys     = 128       // of one request
	MaxKvKey      = 2048      // bytes
	MaxKvValue    = 131_072   // bytes
	MaxTunnelBody = 256 << 10 // bytes of one message of a tunnel
)

// Close is how a WebSocket is closed.
type Close struct {
	Code   int
	Reason string
}

// How sockets are closed.
var (
	CloseInvalidURL           = Close{1011, "ws.invalid_url"} // a query parameter is missing or wrong
	CloseInvalidInitialPacket = Close{1011, "ws.invalid_initial_packet"}
	CloseInvalidPacket        = Close{1011, "ws.invalid_packet"}
	CloseInitTimeout          = Close{1011, "ws.timed_out_waiting_for_init"}
	ClosePingTimeout          = Close{1011, "ws.ping_timeout"}
	CloseSlow                 = Close{1011, "ws.slow"}             // the runner does not read what is sent
	CloseUnavailable          = Close{1011, "ws.pool_unavailable"} // the pool does not answer, or Kafka does not take what the runner says
	CloseUnheeding            = Close{1011, "ws.unheeding"}        // the runner acknowledges no commands
	CloseGoingAway            = Close{1001, "ws.going_away"}
	CloseEviction             = Close{1000, "ws.eviction"} // by a newer socket, or an operator: do not come back
	CloseRunnerShutdown       = Close{1000, "pegboard.runner_shutdown"}
)

// Closes are all of them.
func Closes() []Close {
	return []Close{CloseInvalidURL, CloseInvalidInitialPacket, CloseInvalidPacket, CloseInitTimeout, ClosePingTimeout, CloseSlow, CloseUnavailable, CloseUnheeding, CloseGoingAway, CloseEviction, CloseRunnerShutdown}
}

// CloseOf is the one of Closes that has a reason; false: there is none.
func CloseOf(reason string) (Close, bool) {
	for _, c := range Closes() {
		if c.Reason == reason {
			return c, true
		}
	}
	return Close{}, false
}

// Final reports whether the runner is not to come back.
func (c Close) Final() bool { return c == CloseEviction }
