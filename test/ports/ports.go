// Package ports chooses addresses for the processes of a test, which are told them before they listen.
package ports

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
)

// Ports are taken from here. The systems that Heddle runs on give outgoing connections local ports above them: one
// could have the port by the time that its process starts to listen, which then ends.
const (
	lowest  = 20000
	highest = 32000
)

var (
	mu   sync.Mutex
	next = lowest + rand.IntN(highest-lowest) // other processes that choose begin elsewhere
)

// Free is a loopback address that nobody listens on, and that this process has not been given before.
func Free(ctx context.Context) (netip.AddrPort, error) {
	mu.Lock()
	defer mu.Unlock()
	var failed error
	for range highest - lowest {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(next))
		if next++; next == highest {
			next = lowest
		}
		ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr.String())
		if err == nil {
			return addr, ln.Close()
		}
		failed = err
	}
	return netip.AddrPort{}, fmt.Errorf("no port from %d to %d is free: %w", lowest, highest-1, failed)
}
