package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"

	"github.com/heddle-run/heddle/internal/service"
)

// insideHTTP is the gateway's address on a network within this process.
const insideHTTP = "localhost:80"

// inside reports whether only this process reaches the gateway.
func (d *Dev) inside() bool { return d.options.Network != nil && d.options.HTTP == "" }

// listen opens the gateway's address, on the network that it is reached by.
func (d *Dev) listen(ctx context.Context) (net.Listener, error) {
	if !d.inside() {
		return listen(ctx, d.options.HTTP, d.options.NextHTTP)
	}
	if d.HTTPClient == nil {
		d.HTTPClient = &http.Client{Transport: &http.Transport{
			DialContext: d.options.Network.DialContext, MaxIdleConns: idleConnections, MaxIdleConnsPerHost: idleConnections,
		}}
	}
	return d.options.Network.Listen("tcp", insideHTTP)
}

// insideConnections is how many connections the gateway has at a time where its one client is
// the program itself: as many as calls that wait.
const insideConnections = 1 << 16

// idleConnections are kept by the HTTP client: as many as calls that wait at once, as a rule.
const idleConnections = 1024

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
