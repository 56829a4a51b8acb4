package runners_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// metricsOf are what a registry shows.
func metricsOf(reg *prometheus.Registry) string {
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestP01PingsKeepARunner(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		for range 8 {
			<-time.After(3 * time.Second)
			c.alive()
		}
		r.quiet(time.Millisecond)
	})
}

func TestP03ASilentRunnerGetsNoWorkAndIsClosed(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c, began := r.connect(), time.Now()
		if m := r.reportOf("a runner is silent", func(m report) bool { return m.Silent }); m.Runner != "images.1.1" || m.Session != 1 || time.Since(began) < 10*time.Second || time.Since(began) > 10500*time.Millisecond {
			t.Errorf("after %s the pool hears %+v", time.Since(began), m.RunnerReport)
		}
		c.alive()
		began = time.Now()
		r.reportOf("it is silent no more", func(m report) bool { return m.Heard && !m.Silent })
		c.closed(frames.ClosePingTimeout)
		if d := time.Since(began); d < 14*time.Second || d > 15500*time.Millisecond {
			t.Errorf("it was closed after %s", d)
		}
		if m := r.gone(); m.Closed != "ws.ping_timeout" {
			t.Errorf("the pool hears %+v", m.RunnerReport)
		}
	})
}

// indexes are the indexes of the next commands.
func (c *runner) indexes() (all []int64) {
	c.t.Helper()
	for _, m := range frame[*frames.ToClientCommands](c).Commands {
		all = append(all, m.Index)
	}
	return all
}

func TestM01CommandsAreSentAsTheyCome(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.dial(query)
		c.send(initial())
		m := r.hello()
		r.welcome(m, 0)
		c.init()
		to := events.RunnerCommands{To: m.Connection, Pool: m.pool, Runner: "images.1.1"}
		for i := range uint64(5) {
			one := to
			one.Commands = []events.RunnerCommand{start(i, "w")}
			r.command(&one)
			if got := c.indexes(); !slices.Equal(got, []int64{int64(i)}) {
				t.Errorf("the commands are %v, want %d", got, i)
			}
		}
		to.Commands = []events.RunnerCommand{start(3, "w"), start(4, "w"), {Index: 5, Token: token("w"), Stop: events.StopCancelled}}
		r.command(&to)
		f := frame[*frames.ToClientCommands](c)
		if stop, is := f.Commands[0].Inner.(*frames.StopTask); len(f.Commands) != 1 || f.Commands[0].Index != 5 || !is || stop.Reason != frames.StopCancelled || stop.Token != text("w") {
			t.Errorf("then comes %+v", f.Commands)
		}
		other := to
		other.To.Executor = "another"
		other.Commands = []events.RunnerCommand{start(6, "w")}
		r.command(&other)
		r.quietFrames(c)
	})
}

func TestM02MissedCommandsComeBehindInit(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.dial(query)
		f, four := initial(), int64(4)
		f.LastCommandIdx = &four
		c.send(f)
		m := r.hello()
		if m.Hello.Received != 5 {
			t.Errorf("the pool hears that %d were received", m.Hello.Received)
		}
		r.welcome(m, 0, start(5, "a"), start(6, "b"), start(8, "c")) // one was withdrawn
		c.init()
		if got := c.indexes(); !slices.Equal(got, []int64{5, 6, 8}) {
			t.Errorf("the commands are %v", got)
		}
		r.quietFrames(c)
	})
}

func TestM03WithoutAMemoryAllCome(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		for _, last := range []*int64{nil, new(int64(-1))} {
			c := r.dial(query)
			f := initial()
			f.LastCommandIdx = last
			c.send(f)
			m := r.hello()
			if m.Hello.Received != 0 {
				t.Errorf("the pool hears that %d were received", m.Hello.Received)
			}
			r.welcome(m, 0, start(0, "a"))
			c.init()
			s := frame[*frames.ToClientCommands](c).Commands[0].Inner.(*frames.StartTask)
			if s.Token != text("a") || s.Task != "thumb" || s.Workflow != "a" || s.Component != "c" || s.Attempt != 1 || string(s.Input) != `{ "a":1}` || s.IdempotencyKey != "a/1" {
				t.Errorf("the task is %+v", s)
			}
		}
	})
}

func TestM04AcknowledgedCommandsAreTold(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		c.send(&frames.ToServerAckCommands{LastCommandIdx: 4})
		if m := r.reportOf("commands were received", func(m report) bool { return m.Received > 0 }); m.Received != 5 || m.Runner != "images.1.1" {
			t.Errorf("the pool hears %+v", m.RunnerReport)
		}
		c.alive()
	})
}

func TestL01ADroppedSocketIsToldAtOnce(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c, began := r.connect(), time.Now()
		c.drop()
		if m := r.gone(); m.Runner != "images.1.1" || m.Session != 1 || time.Since(began) > time.Second {
			t.Errorf("after %s the pool hears %+v", time.Since(began), m.RunnerReport)
		}
		r.quiet(5 * time.Second)
	})
}

func TestL07AnEvictedSocketDoesNotComeBack(t *testing.T) {
	reg := prometheus.NewRegistry()
	in(t, func(t *testing.T, r *rig) {
		c := r.dial(query)
		c.send(initial())
		m := r.hello()
		r.welcome(m, 0)
		c.init()
		second := r.connect()
		r.command(&events.RunnerCommands{To: m.Connection, Pool: m.pool, Runner: "images.1.1", Close: frames.CloseEviction.Reason})
		if f := frame[*frames.ToClientClose](c); f.Reason != frames.CloseEviction.Reason {
			t.Errorf("the last frame is %+v", f)
		}
		c.closed(frames.CloseEviction)
		r.gone()
		second.alive()
		shown := metricsOf(reg)
		counted(t, shown, `heddle_executor_runner_sockets{pool="images"}`, "1")
		counted(t, shown, `heddle_executor_runner_closes_total{reason="ws.eviction"}`, "1")
	}, func(c *runners.Config) { c.Registerer = reg })
}

// A socket that is closed for another reason comes back.
func TestAnUnheedingRunnerIsClosed(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.dial(query)
		c.send(initial())
		m := r.hello()
		r.welcome(m, 0)
		c.init()
		r.command(&events.RunnerCommands{To: m.Connection, Pool: m.pool, Close: frames.CloseUnheeding.Reason})
		c.closed(frames.Close{Code: 1011, Reason: frames.CloseUnheeding.Reason})
	})
}

// A pool that has taken all sockets of an executor for gone has it close them: their runners connect again.
func TestDisownedSocketsAreClosed(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.dial(query)
		c.send(initial())
		m := r.hello()
		r.welcome(m, 0)
		c.init()
		to := events.Connection{Executor: m.Executor}
		r.command(&events.RunnerCommands{To: to, Pool: "pool:another", Close: frames.CloseGoingAway.Reason})
		c.alive()
		r.command(&events.RunnerCommands{To: to, Pool: m.pool, Close: frames.CloseGoingAway.Reason})
		c.closed(frames.CloseGoingAway)
	})
}

func TestD01AStoppingRunnerIsTold(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		c.send(&frames.ToServerStopping{})
		if m := r.reportOf("a runner stops", func(m report) bool { return m.Stopping }); m.Runner != "images.1.1" || m.Session != 1 {
			t.Errorf("the pool hears %+v", m.RunnerReport)
		}
		c.alive()
		if err := c.conn.Close(1000, frames.CloseRunnerShutdown.Reason); err != nil {
			t.Fatal(err)
		}
		if m := r.gone(); !strings.Contains(m.Closed, frames.CloseRunnerShutdown.Reason) {
			t.Errorf("the pool hears %+v", m.RunnerReport)
		}
	})
}

// An executor that ends sends its runners elsewhere, and their pools hear of it.
func TestAnExecutorThatEndsClosesItsSockets(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c, young := r.connect(), r.dial(query)
		closed := make(chan error, 1)
		go func() { closed <- r.server.Close() }()
		c.closed(frames.CloseGoingAway)
		young.closed(frames.CloseGoingAway)
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		if m := r.gone(); m.Closed != "ws.going_away" {
			t.Errorf("the pool hears %+v", m.RunnerReport)
		}
		if _, response, err := r.tryDial(query); err == nil || response.StatusCode != 503 {
			t.Errorf("answered with %v, %v", response, err)
		}
	})
}

// As long as it has sockets of a pool, an executor says that it is there.
func TestAnExecutorSaysThatItIsThere(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c, began := r.connect(), time.Now()
		for i := range 2 {
			m := r.reportOf("the executor is there", func(m report) bool { return m.Runner == "" && m.Hello == nil })
			if m.pool != "pool:images" || m.Executor == "" || m.Number != 0 || time.Since(began).Round(time.Second) != time.Duration(i+1)*5*time.Second {
				t.Errorf("after %s the pool %s hears %+v", time.Since(began), m.pool, m.RunnerReport)
			}
			c.alive()
		}
	})
}

func TestK05RequestsForKeysHaveLimits(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		value := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
		for i, test := range []struct {
			request frames.KvRequest
			code    string
		}{
			{&frames.KvGet{Keys: slices.Repeat([]string{"k"}, 129)}, frames.KvTooManyKeys},
			{&frames.KvDelete{Keys: []string{strings.Repeat("k", 2049)}}, frames.KvKeyLength},
			{&frames.KvPut{Entries: []frames.KvEntry{{Key: "k", Value: value(131_073)}}}, frames.KvValueTooLarge},
			{&frames.KvGet{Keys: []string{"k"}}, frames.KvUnavailable}, // there is no store
		} {
			c.send(&frames.ToServerKvRequest{RequestID: uint64(i), Token: text("w"), Inner: test.request})
			if f := frame[*frames.ToClientKvResponse](c); f.RequestID != uint64(i) || f.Error == nil || f.Error.Code != test.code {
				t.Errorf("the answer is %+v, want %s", f, test.code)
			}
		}
	})
}

func TestK06FramesHaveALimit(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		body := make([]byte, 100_000)
		tunnel := func(body []byte) frames.ToServer {
			return &frames.ToServerTunnel{Tunnel: frames.Tunnel{RequestID: "q", Inner: &frames.ResponseChunk{Body: body}}}
		}
		c.send(tunnel(body[:10_000])) // nobody has asked
		if f := frame[*frames.ToClientTunnel](c); f.RequestID != "q" {
			t.Errorf("the answer is %+v", f)
		}
		go func() { // it is closed meanwhile
			_ = c.conn.Write(context.Background(), websocket.MessageText, frames.EncodeToServer(frames.JSON, tunnel(body)))
		}()
		c.closed(frames.CloseInvalidPacket)
		r.gone()
	}, func(c *runners.Config) { c.Limits.MaxPayload = 50_000 })
}

// A runner that does not read is closed; others are not disturbed.
func TestARunnerThatDoesNotReadIsClosed(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.dial(query)
		c.send(initial())
		m := r.hello()
		r.welcome(m, 0)
		to := events.RunnerCommands{To: m.Connection, Pool: m.pool, Runner: "images.1.1"}
		for i := range uint64(20) {
			one := start(i, "w")
			to.Commands = append(to.Commands, one)
			r.command(&events.RunnerCommands{To: m.Connection, Pool: m.pool, Runner: "images.1.1", Commands: []events.RunnerCommand{one}})
		}
		if m := r.gone(); m.Closed != frames.CloseSlow.Reason {
			t.Errorf("the pool hears %+v", m.RunnerReport)
		}
		r.connect().alive()
	}, func(c *runners.Config) { c.Limits.OutFrames = 4 })
}
