package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestTLSIsSpokenWithWhomeverIsDialled(t *testing.T) {
	known := httptest.NewTLSServer(nil) // for its certificate, of the loopback addresses
	defer known.Close()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(&tls.Config{Certificates: known.TLS.Certificates}))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	roots := x509.NewCertPool()
	roots.AddCert(known.Certificate())
	conns := 0
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conns++
		return DialTCP(ctx, network, addr)
	}
	config := Config{Brokers: cluster.ListenAddrs(), Dialer: dial, TLS: &tls.Config{RootCAs: roots}}
	client, err := config.client("test")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Ping(t.Context()); err != nil || conns == 0 {
		t.Errorf("after %d dials: %v", conns, err)
	}

	config.TLS.ServerName = "elsewhere.example"
	if _, err := config.dialer()(t.Context(), "tcp", config.Brokers[0]); err == nil || !strings.Contains(err.Error(), "TLS with the broker "+config.Brokers[0]) {
		t.Errorf("another's certificate: %v", err)
	}
}

func TestADialThatFailsTakesAWhile(t *testing.T) {
	gone := errors.New("the network is gone")
	dial := Config{Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, gone }, TLS: &tls.Config{}}.dialer()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := dial(t.Context(), "tcp", "broker:9092"); !errors.Is(err, gone) || time.Since(began) != dialPause {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		if _, err := dial(ended, "tcp", "broker:9092"); !errors.Is(err, gone) || time.Since(began) != 0 {
			t.Errorf("%v after %s, and nobody waits", err, time.Since(began))
		}
	})
}
