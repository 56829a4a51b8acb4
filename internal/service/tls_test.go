package service

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
)

// A renewed certificate that cannot be read is told of once, however many connect
// meanwhile, and the last one is served.
func TestACertificateThatCannotBeReadIsToldOnce(t *testing.T) {
	a := brokertest.NewAuthority(t)
	var said bytes.Buffer
	c := certificate{certFile: a.ClientCert, keyFile: a.ClientKey, logger: slog.New(slog.NewTextHandler(&said, nil))}
	good, err := c.get(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.ClientCert, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, err := c.get(nil); err != nil || got != good {
			t.Errorf("served is %p with %v, want the last one", got, err)
		}
	}
	if n := strings.Count(said.String(), "\n"); n != 1 {
		t.Errorf("%d lines are in the log:\n%s", n, &said)
	}
}
