package events

import (
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/wire"
)

// TunnelRecord is the value of a record of topic tunnels: a message between a client of a gateway and an attempt at a runner, on its way
// between that gateway and the executor that has the runner's socket. Its key is who it is for: the executor's id, or the gateway's
// address.
type TunnelRecord struct {
	Connection        // the socket
	Pool       string // id of the entity
	Runner     string // id of the session
	Up         bool   // it comes of the socket
	Message    []byte // frames.Tunnel
	Missed     string // up: id of a request of which a message did not get to the runner; there is no Message then
}

// Fields implements wire.Message.
func (m *TunnelRecord) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "connection", &m.Connection)
	wire.String(c, 2, "pool", &m.Pool)
	wire.String(c, 3, "runner", &m.Runner)
	c.Bool(4, "up", &m.Up)
	c.Bytes(5, "message", &m.Message)
	wire.String(c, 6, "missed", &m.Missed)
}

// DecodeTunnelRecord decodes the value of a record of topic tunnels.
func DecodeTunnelRecord(b []byte) (*TunnelRecord, error) {
	m := &TunnelRecord{}
	if err := wire.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("decoding a record of tunnels: %w", err)
	}
	return m, nil
}

// TunnelRequest is the id of a request of a gateway, which executors take the gateway's address from: they remember none. The rest
// is a secret of the gateway and the runner.
func TunnelRequest(address, secret string) string { return address + "." + secret }

// TunnelAddress is the address of the gateway that has given a request its id; false: none has.
func TunnelAddress(id string) (address string, ok bool) {
	address, secret, ok := strings.Cut(id, ".")
	return address, ok && address != "" && secret != ""
}
