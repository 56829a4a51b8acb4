package ports_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/heddle-run/heddle/test/ports"
)

// No address is given twice, however often one is asked for at a time, and one may listen on each.
func TestAnAddressIsGivenOnce(t *testing.T) {
	const many = 100
	given := make(chan netip.AddrPort)
	for range many {
		go func() {
			addr, err := ports.Free(t.Context())
			if err != nil {
				t.Error(err)
			}
			given <- addr
		}()
	}
	seen := map[netip.AddrPort]bool{}
	for range many {
		addr := <-given
		if seen[addr] || !addr.Addr().IsLoopback() {
			t.Errorf("%s is given, again: %v", addr, seen[addr])
		}
		seen[addr] = true
	}
	for addr := range seen {
		ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
	}
}
