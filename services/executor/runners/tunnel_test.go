package runners_test

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

const gatewayAddress = "GATEWAY"

// request is the id of a request of a gateway.
var request = events.TunnelRequest(gatewayAddress, "1")

// down sends a record to the executor of a socket, as a gateway would.
func (r *rig) down(key string, m *events.TunnelRecord) {
	r.t.Helper()
	if err := r.producer.ProduceSync(context.Background(), kafka.Keyed(r.Topics.Tunnels(), []byte(key), wire.Marshal(m), kafka.TunnelFormat...)).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
}

// gateway reads what comes to a gateway.
func (r *rig) gateway() func() *events.TunnelRecord {
	r.t.Helper()
	tail, err := kafka.NewTail(r.Config, kafka.FromStart, r.Topics.Tunnels())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { r.Close(tail) })
	var all []*events.TunnelRecord
	return func() *events.TunnelRecord {
		r.t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for len(all) == 0 && ctx.Err() == nil {
			tail.PollFetches(ctx).EachRecord(func(k *kgo.Record) {
				if m, err := events.DecodeTunnelRecord(k.Value); err != nil {
					r.t.Fatal(err)
				} else if string(k.Key) == gatewayAddress {
					all = append(all, m)
				}
			})
		}
		if len(all) == 0 {
			r.t.Fatal("nothing comes to the gateway")
		}
		m := all[0]
		all = all[1:]
		return m
	}
}

func opening(id string) []byte {
	return wire.Marshal(&frames.Tunnel{RequestID: id, Inner: &frames.RequestStart{Token: "t", Method: "GET", Path: "/"}})
}

// Messages go through an executor as they are, in both encodings, to the socket and the gateway that are meant.
func TestMessagesOfTunnelsGoThrough(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		next := r.gateway()
		for _, mode := range []string{"", "&encoding=binary"} {
			c := r.dial(query + mode)
			c.send(initial())
			hello := r.hello()
			r.welcome(hello, 0)
			c.init()
			to := events.TunnelRecord{Connection: hello.Connection, Pool: hello.pool, Runner: "images.1.1", Message: opening(request)}
			r.down(hello.Executor, &to)
			f := frame[*frames.ToClientTunnel](c)
			if start, is := f.Inner.(*frames.RequestStart); !is || f.RequestID != request || start.Path != "/" {
				t.Fatalf("the runner gets %+v", f)
			}
			c.send(&frames.ToServerTunnel{Tunnel: frames.Tunnel{RequestID: request, MessageIdx: 65_535, Inner: &frames.ResponseChunk{Body: []byte{0, 255}}}})
			m := next()
			got, err := frames.DecodeTunnel(m.Message)
			if err != nil || !m.Up || m.Connection != hello.Connection || m.Pool != hello.pool || m.Runner != "images.1.1" || got.MessageIdx != 65_535 ||
				string(got.Inner.(*frames.ResponseChunk).Body) != "\x00\xff" {
				t.Fatalf("the gateway gets %+v with %+v, %v", m, got, err)
			}
			c.drop()
			r.gone()
		}
	})
}

// What cannot be delivered is told to the gateway; what is not the gateway's to say reaches no runner.
func TestWhatDoesNotReachARunnerIsTold(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		next := r.gateway()
		c := r.dial(query)
		c.send(initial())
		hello := r.hello()
		r.welcome(hello, 0)
		c.init()
		good := events.TunnelRecord{Connection: hello.Connection, Pool: hello.pool, Runner: "images.1.1", Message: opening(request)}
		for name, change := range map[string]func(*events.TunnelRecord){ // order: each is told by itself
			"another runner": func(m *events.TunnelRecord) { m.Runner = "images.1.2" },
			"another pool":   func(m *events.TunnelRecord) { m.Pool = "pool:other" },
			"another socket": func(m *events.TunnelRecord) { m.Number += 7 },
		} {
			m := good
			change(&m)
			r.down(hello.Executor, &m)
			if got := next(); got.Missed != request || !got.Up {
				t.Errorf("%s: the gateway gets %+v", name, got)
			}
		}
		up, garbage, foreign := good, good, good
		up.Up, garbage.Message, foreign.Executor = true, []byte{0xff}, "x"
		for _, m := range []events.TunnelRecord{up, garbage, foreign} {
			r.down(hello.Executor, &m)
		}
		c.alive() // and got none of them
		c.send(&frames.ToServerTunnel{Tunnel: frames.Tunnel{RequestID: hello.Executor, Inner: &frames.ResponseEnd{}}})
		if f := frame[*frames.ToClientTunnel](c); f.RequestID != hello.Executor {
			t.Errorf("the answer is %+v", f)
		} else if _, is := f.Inner.(*frames.RequestAbort); !is {
			t.Errorf("the answer is %+v", f.Inner)
		}
		c.alive()
		c.drop()
		r.gone()
		r.down(hello.Executor, &good)
		if got := next(); got.Missed != request {
			t.Errorf("behind the end of the socket the gateway gets %+v", got)
		}
	})
}

// A runner that does not read is not closed for messages of tunnels, of which no more wait than half of what may: the gateway hears that the others were missed.
func TestTunnelsLeaveRoomForCommands(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		next := r.gateway()
		c := r.dial(query)
		c.send(initial())
		hello := r.hello()
		r.welcome(hello, 0)
		chunk := wire.Marshal(&frames.Tunnel{RequestID: request, Inner: &frames.RequestChunk{Body: make([]byte, 1000)}})
		for range 50 {
			r.down(hello.Executor, &events.TunnelRecord{Connection: hello.Connection, Pool: hello.pool, Runner: "images.1.1", Message: chunk})
		}
		for range 40 {
			if m := next(); m.Missed != request {
				t.Fatalf("the gateway gets %+v", m)
			}
		}
		c.init()
		for range 3 {
			frame[*frames.ToClientTunnel](c)
		}
	}, func(c *runners.Config) { c.Limits.OutFrames = 10 })
}
