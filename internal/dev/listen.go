package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/heddle-run/heddle/internal/service"
)

// portsToTry bounds the search for a free port.
const portsToTry = 64

// listen opens the gateway's address, or, with next, the first free port above
// it. An empty address is any free port of loopback.
func listen(ctx context.Context, addr string, next bool) (net.Listener, error) {
	if addr == "" {
		return service.Listen(ctx, "127.0.0.1:0")
	}
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q is not of the form HOST:PORT: %w", addr, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("address %q: its port is no number", addr)
	}
	for try := 0; ; try++ {
		ln, err := service.Listen(ctx, net.JoinHostPort(host, strconv.Itoa(port+try)))
		if err == nil || !next || port == 0 || try == portsToTry || !errors.Is(err, syscall.EADDRINUSE) {
			return ln, err
		}
	}
}
