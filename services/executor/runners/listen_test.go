package runners_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/frames"
)

// Over a real connection, encrypted: a runner is served until the executor stops, and then sent elsewhere.
func TestRunnersAreServedOverTLS(t *testing.T) {
	a := brokertest.NewAuthority(t)
	r := newRig(t, brokertest.Start(t, topics.Options{Partitions: 1}))
	ctx, stop := context.WithCancel(t.Context())
	at, ended := make(chan net.Addr, 1), make(chan error, 1)
	l := runners.Listen{Addr: "127.0.0.1:0", CertFile: a.ClientCert, KeyFile: a.ClientKey}
	go func() {
		ended <- runners.Run(ctx, runners.Config{Kafka: r.Config}, l, func(addr net.Addr) { at <- addr })
	}()
	var addr net.Addr
	select {
	case addr = <-at:
	case err := <-ended:
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the certificate is of no name
	conn, response, err := websocket.Dial(ctx, "wss://"+addr.String()+frames.Path+"?"+query, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	if response.TLS == nil {
		t.Error("it is not encrypted")
	}
	c := &runner{t: t, conn: conn}
	c.send(initial())
	r.welcome(r.hello(), 0, start(0, "w"))
	c.init()
	if got := c.indexes(); len(got) != 1 {
		t.Errorf("the commands are %v", got)
	}
	c.events(state(0, "w", frames.StateRunning, nil))
	r.told()
	stop()
	_, err = c.next(patience)
	if err == nil { // what has counted may be acknowledged before
		_, err = c.next(patience)
	}
	if how, is := errors.AsType[websocket.CloseError](err); !is || how.Code != websocket.StatusGoingAway || how.Reason != frames.CloseGoingAway.Reason {
		t.Errorf("it ends with %v", err)
	}
	r.gone()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestOthersThanThisMachineAreServedWithKeysOnly(t *testing.T) {
	for addr, want := range map[string]bool{"": true, "127.0.0.1:0": true, "localhost:1": true, "[::1]:1": true, "0.0.0.0:1": false, ":1": false, "example.com:1": false} {
		l := runners.Listen{Addr: addr}
		if err := l.Check(&runners.Config{}); errors.Is(err, runners.ErrExposed) == want {
			t.Errorf("%q: %v", addr, err)
		}
		if err := l.Check(&runners.Config{Insecure: true}); err != nil {
			t.Errorf("%q: %v", addr, err)
		}
	}
}
