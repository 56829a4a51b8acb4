package service

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync"
)

// certificate is read anew for each connection, so that it can be renewed while
// it is served. One that cannot be read leaves the last one in place.
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
		return nil, fmt.Errorf("read the certificate: %w", err)
	case c.told != err.Error():
		c.told = err.Error()
		c.logger.Warn("the renewed certificate cannot be read; the last one is still served", "file", c.certFile, "error", err)
	}
	return c.last, nil
}

// Encrypted is a listener that speaks TLS with a certificate and its key (PEM), which are read again when they change; it is ln itself
// where neither file is named.
func Encrypted(ln net.Listener, certFile, keyFile string, logger *slog.Logger) (net.Listener, error) {
	if certFile == "" && keyFile == "" {
		return ln, nil
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	c := &certificate{certFile: certFile, keyFile: keyFile, logger: logger}
	if _, err := c.get(nil); err != nil {
		return nil, err
	}
	return tls.NewListener(ln, &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12}), nil
}
