package plannerd_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/definitions"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// lateBook lets the planners that start from now on hear of definitions late.
func (w *world) lateBook(late time.Duration) {
	dial := w.cluster.Config.Dialer
	w.cluster.Config.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &lateConn{Conn: conn, late: late, closed: make(chan struct{})}, nil
	}
}

// lateConn is late with the answers to a tail's fetches.
type lateConn struct {
	net.Conn
	late   time.Duration
	tail   atomic.Bool
	once   sync.Once
	closed chan struct{}
}

// Write reads the head of a request: length, API key, version, correlation id,
// client id.
func (c *lateConn) Write(b []byte) (int, error) {
	if len(b) > 14 && binary.BigEndian.Uint16(b[4:]) == uint16(kmsg.Fetch) {
		id := b[14:][:binary.BigEndian.Uint16(b[12:])]
		c.tail.Store(strings.HasSuffix(string(id), "-tail"))
	}
	return c.Conn.Write(b)
}

func (c *lateConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.tail.Load() {
		select {
		case <-time.After(c.late):
		case <-c.closed:
		}
	}
	return n, err
}

func (c *lateConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (w *world) define(src string) {
	w.t.Helper()
	d, err := definition.Parse([]byte(src))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range definitions.Records(d) {
		if err := w.client.ProduceSync(context.Background(), kafka.Keyed(w.names.Definitions(), r.Key, r.Value)).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
}

const greet = `{"name":"greet","components":{"a":{"expr":"input"}}}`

func TestADefinitionStartsOnceItIsWrittenThoughThePlannerHearsOfItLate(t *testing.T) {
	inWorld(t, func(w *world) {
		w.lateBook(5 * time.Millisecond)
		_, stop := w.planner("a")
		for i := range 3 {
			name := fmt.Sprint("greet", i)
			w.define(strings.Replace(greet, "greet", name, 1))
			w.command("w"+name, "start", `{"definition":"`+name+`","input":1}`)
			if r := w.reply(events.ReplyDecided); r.Result != events.ResultDone {
				t.Errorf("start of %s: %+v", name, r.Refusal)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Starts that name nothing must not hold up a partition, whatever the cluster
// does: they wait for the definitions a bounded time in all.
func TestManyStartsOfUnknownDefinitionsDoNotHoldUpThePartition(t *testing.T) {
	inWorld(t, func(w *world) {
		w.lateBook(time.Hour)
		_, stop := w.planner("a")
		w.define(greet)
		began := time.Now()
		const n = 100
		for i := range n {
			w.command(fmt.Sprint("w", i), "start", `{"definition":"nobody"}`)
			if r := w.reply(events.ReplyDecided); r.Refusal == nil || r.Refusal.Code != "unknown_definition" {
				t.Fatalf("start: %+v", r)
			}
		}
		// 4 partitions with 50 ms each and a tenth of the time, not 100 times 50 ms.
		if took := time.Since(began); took > time.Second {
			t.Errorf("%d refusals took %s", n, took)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
