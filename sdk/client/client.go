package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/heddle-run/heddle/internal/dev/devfile"
)

// Options say how to reach a gateway.
type Options struct {
	// URL of the gateway. Without one a running `heddle dev` is looked for in the
	// working directory and above it, else a gateway is expected at 127.0.0.1:4080.
	URL string

	APIKey       string        // sent as a bearer token
	HTTPClient   *http.Client  // nil: one of its own
	Interceptors []Interceptor // the first is the outermost
}

// Client is safe for concurrent use. Close it.
type Client struct {
	t Transport
}

// New is a client of a gateway. It contacts nobody yet; like kafkaclient.New, which
// does, it fails if ctx has ended.
func New(ctx context.Context, o Options) (*Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("client: %w", context.Cause(ctx))
	}
	if o.URL == "" {
		dev, err := devfile.Running()
		if err != nil {
			return nil, fmt.Errorf("client: no URL: %w", err)
		}
		o.URL = dev.URL
	}
	t, err := newHTTPTransport(o)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return Over(t, o.Interceptors...), nil
}

// Over is a client that reaches its deployment by t, which it closes.
func Over(t Transport, interceptors ...Interceptor) *Client {
	return &Client{t: intercepted(t, interceptors)}
}

// Close releases connections; calls that wait end with an error.
func (c *Client) Close() error { return c.t.Close() }
