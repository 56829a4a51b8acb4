package gateway

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync"
)

// certificate is read anew for each connection, so that it can be renewed while
// the gateway serves. One that cannot be read leaves the last one in place.
type certificate struct {
	certFile, keyFile string
	logger            *slog.Logger

	mu   sync.Mutex
	last *tls.Certificate
	told string // why it could not be read, as it was said; empty: it could
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	switch {
	case err == nil:
		c.last, c.told = &pair, ""
	case c.last == nil:
		return nil, fmt.Errorf("read the certificate of the gateway: %w", err)
	case c.told != err.Error():
		c.told = err.Error()
		c.logger.Warn("the renewed certificate cannot be read; the last one is still served", "file", c.certFile, "error", err)
	}
	return c.last, nil
}

// encrypted is a listener that speaks TLS where there is a certificate.
func (g *Gateway) encrypted(ln net.Listener) (net.Listener, error) {
	if g.cfg.CertFile == "" && g.cfg.KeyFile == "" {
		return ln, nil
	}
	c := &certificate{certFile: g.cfg.CertFile, keyFile: g.cfg.KeyFile, logger: g.logger}
	if _, err := c.get(nil); err != nil {
		return nil, err
	}
	return tls.NewListener(ln, &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12}), nil
}
