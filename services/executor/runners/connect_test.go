package runners_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/internal/access"
	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

func TestC01TheFirstFrameIsAnsweredOnce(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.dial(query)
		c.send(initial())
		m := r.hello()
		if h := m.Hello; m.pool != "pool:images" || h.Key != "k1" || h.Name != "ann" || h.Version != 3 || h.Slots != 2 || h.Received != 0 || m.Executor == "" || m.Number == 0 {
			t.Errorf("the pool %q hears %+v of %+v", m.pool, h, m.Connection)
		}
		r.welcome(m, 0)
		f := c.init()
		if f.RunnerID != "images.1.1" || f.LastEventIdx != -1 || f.Metadata.RunnerLostThreshold != threshold || f.Metadata.PingTimeout != 15_000 || f.Metadata.Limits.MaxPayload != frames.DefaultMaxPayload {
			t.Errorf("the answer is %+v", f)
		}
		r.welcome(m, 0) // it may come twice
		c.alive()
	})
}

func TestC02ASilentSocketIsClosed(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c, began := r.dial(query), time.Now()
		c.closed(frames.CloseInitTimeout)
		if d := time.Since(began); d < 5*time.Second || d > 5200*time.Millisecond {
			t.Errorf("it was closed after %s", d)
		}
		r.quiet(time.Second)
	})
}

func TestC03TheFirstFrameIsInit(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		for _, f := range []frames.ToServer{&frames.ToServerPing{Ts: 1}, &frames.ToServerEvents{}, &frames.ToServerAckCommands{}, &frames.ToServerStopping{}} {
			c := r.dial(query)
			c.send(f)
			c.closed(frames.CloseInvalidInitialPacket)
		}
		r.quiet(time.Second)
	})
}

func TestC04TheFirstFrameCanBeRead(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		for _, b := range []string{"", "{}", "no JSON", `{"type":"ToServerInit"}`, `{"type":"ToServerInit","name":"ann","totalSlots":0}`} {
			c := r.dial(query)
			c.write([]byte(b))
			c.closed(frames.CloseInvalidPacket)
		}
		c := r.dial(query)
		if err := c.conn.Write(context.Background(), websocket.MessageBinary, frames.EncodeToServer(frames.Binary, initial())); err != nil {
			t.Fatal(err)
		}
		c.closed(frames.CloseInvalidPacket)
		r.quiet(time.Second)
	})
}

func TestC05WrongURLsAreClosed(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		for name, change := range map[string]func(url.Values){
			"no version":      func(q url.Values) { q.Del(frames.QueryVersion) },
			"no number":       func(q url.Values) { q.Set(frames.QueryVersion, "one") },
			"another version": func(q url.Values) { q.Set(frames.QueryVersion, "2") },
			"no pool":         func(q url.Values) { q.Del(frames.QueryPool) },
			"a wrong pool":    func(q url.Values) { q.Set(frames.QueryPool, "a b") },
			"two pools":       func(q url.Values) { q.Add(frames.QueryPool, "other") },
			"no key":          func(q url.Values) { q.Del(frames.QueryKey) },
			"a long key":      func(q url.Values) { q.Set(frames.QueryKey, strings.Repeat("k", 256)) },
			"no text":         func(q url.Values) { q.Set(frames.QueryKey, "\xff") },
			"an encoding":     func(q url.Values) { q.Set(frames.QueryEncoding, "xml") },
		} {
			q, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			change(q)
			t.Log(name)
			r.dial(q.Encode()).closed(frames.CloseInvalidURL)
		}
		r.quiet(time.Second)
	})
}

func TestC09NamesAreTold(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.dial(query)
		f := initial()
		f.PrepopulateTaskNames = []wire.Pair{{Key: "resize", Value: json.RawMessage(`{"a":1}`)}, {Key: "thumb"}}
		f.Metadata, f.Instance = json.RawMessage(`{"zone":"b"}`), "i1"
		c.send(f)
		h := r.hello().Hello
		want := []events.TaskName{{Name: "resize", Metadata: []byte(`{"a":1}`)}, {Name: "thumb", Metadata: []byte("null")}}
		if !slices.EqualFunc(h.Names, want, func(a, b events.TaskName) bool { return a.Name == b.Name && string(a.Metadata) == string(b.Metadata) }) || string(h.Metadata) != `{"zone":"b"}` || h.Instance != "i1" {
			t.Errorf("the pool hears %+v", h)
		}
	})
}

func TestC10ASecondInitIsIgnored(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		c.send(initial())
		c.alive()
		r.quiet(time.Second)
	})
}

func TestC11AFrameThatCannotBeReadIsPassedOver(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		for _, b := range []string{"", "{}", "no JSON", `{"type":"ToServerEvents","events":[{"index":0}]}`, `{"type":"ToServerPing","ts":1,"more":2}`, `{"type":"ToServerAckCommands","lastCommandIdx":-2}`} {
			c.write([]byte(b))
			c.alive()
		}
		r.quiet(time.Second)
	})
}

func TestTheBinaryFormIsServed(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.dial(query + "&encoding=binary")
		c.send(initial())
		r.welcome(r.hello(), 7, start(0, "w"))
		if f := c.init(); f.LastEventIdx != 6 {
			t.Errorf("the answer is %+v", f)
		}
		if f := frame[*frames.ToClientCommands](c); f.Commands[0].Inner.(*frames.StartTask).Workflow != "w" {
			t.Errorf("the commands are %+v", f)
		}
		c.alive()
	})
}

// Nobody connects without a key that may, and it is told before there is a socket.
func TestKeysAreCheckedBeforeThereIsASocket(t *testing.T) {
	key := func(text, role string) access.Key {
		k, err := access.ParseKey("ann:" + role + ":" + sum(text))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	in(t, func(t *testing.T, r *rig) {
		header := func(v string) func(*websocket.DialOptions) {
			return func(o *websocket.DialOptions) { o.HTTPHeader = http.Header{"Authorization": {v}} }
		}
		protocol := func(all ...string) func(*websocket.DialOptions) {
			return func(o *websocket.DialOptions) { o.Subprotocols = all }
		}
		for _, test := range []struct {
			with   func(*websocket.DialOptions)
			status int
		}{
			{func(*websocket.DialOptions) {}, 401}, {header("Bearer nobody"), 401}, {header("Basic x"), 401}, {header("Bearer looker"), 403},
			{protocol(frames.Subprotocol, frames.TokenProtocol("nobody")), 401}, {protocol(frames.TokenProtocol("looker")), 403}, {protocol("heddle.token.%"), 401},
		} {
			_, response, err := r.tryDial(query, test.with)
			if err == nil || response.StatusCode != test.status {
				t.Errorf("answered with %v, %v; want %d", response, err, test.status)
			}
		}
		for _, with := range []func(*websocket.DialOptions){header("Bearer doer"), protocol(frames.Subprotocol, frames.TokenProtocol("doer"))} {
			c := r.dial(query, with)
			c.send(initial())
			r.welcome(r.hello(), 0)
			c.init()
		}
		c := r.dial(query, protocol(frames.Subprotocol, frames.TokenProtocol("doer")))
		if got := c.conn.Subprotocol(); got != frames.Subprotocol {
			t.Errorf("the sub-protocol is %q", got)
		}
	}, func(c *runners.Config) { c.Keys = access.Keys{key("looker", "read"), key("doer", "write")} })
}

// Without keys a web page of elsewhere, or a name that was pointed at this machine, reaches nothing.
func TestWithoutKeysThisMachineConnectsOnly(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		for _, with := range []func(*websocket.DialOptions){
			func(o *websocket.DialOptions) { o.Host = "example.com" },
			func(o *websocket.DialOptions) { o.HTTPHeader = http.Header{"Origin": {"https://example.com"}} },
		} {
			if _, response, err := r.tryDial(query, with); err == nil || response.StatusCode != 403 {
				t.Errorf("answered with %v, %v", response, err)
			}
		}
	})
}

func TestAPlainRequestIsToldWhatThisIs(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		client := &http.Client{Transport: &http.Transport{DialContext: r.network.DialContext, DisableKeepAlives: true}}
		for method, status := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405} {
			q, err := http.NewRequestWithContext(t.Context(), method, "http://localhost:80"+frames.Path, nil)
			if err != nil {
				t.Fatal(err)
			}
			a, err := client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(a.Body)
			if a.Body.Close(); err != nil || a.StatusCode != status || method == "GET" && strings.Count(string(body), "\n") != 1 {
				t.Errorf("%s: %d %q, %v", method, a.StatusCode, body, err)
			}
		}
	})
}

// A pool that does not answer is waited for, but not for ever. Where it answers later it hears that the socket is gone.
func TestAPoolThatDoesNotAnswer(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c, began := r.dial(query), time.Now()
		c.send(initial())
		m := r.hello()
		c.closed(frames.CloseUnavailable)
		if d := time.Since(began); d < 10*time.Second || d > 10500*time.Millisecond {
			t.Errorf("it was closed after %s", d)
		}
		r.welcome(m, 0)
		if got := r.gone(); got.Connection != m.Connection || got.Runner != "images.1.1" || got.Session != 1 || got.pool != "pool:images" {
			t.Errorf("the pool %s hears %+v", got.pool, got.RunnerReport)
		}
	})
}

func TestNoMoreSocketsThanAreAllowed(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		if _, response, err := r.tryDial(query); err == nil || response.StatusCode != 503 {
			t.Errorf("answered with %v, %v", response, err)
		}
		c.drop()
		r.gone()
		synctest.Wait() // the executor has heard, too, that its pool knows
		r.connect()
	}, func(c *runners.Config) { c.Limits.Sockets = 1 })
}

// A runner that belongs to a shard of its pool is greeted there, once, and all that it says goes there. A runner that says what it was called is
// greeted by who called it so.
func TestARunnerIsGreetedByItsShard(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.dial(query)
		c.send(initial())
		first := r.hello()
		if first.pool != "pool:images" || first.Hello.Sent {
			t.Fatalf("it greets %+v", first)
		}
		r.command(&events.RunnerCommands{To: first.Connection, Pool: first.pool, Runner: "host", Greet: "pool:images/3"})
		r.command(&events.RunnerCommands{To: first.Connection, Pool: first.pool, Runner: "host", Greet: "pool:images/2"}) // which comes too late
		second := r.hello()
		if second.pool != "pool:images/3" || !second.Hello.Sent || second.Connection != first.Connection || second.Hello.Slots != first.Hello.Slots {
			t.Fatalf("it greets %+v, %+v", second, second.Hello)
		}
		r.welcome(second, 0)
		c.init()
		c.send(&frames.ToServerStopping{})
		if m := r.reportOf("it stops", func(m report) bool { return m.Hello != nil || m.Stopping }); m.pool != "pool:images/3" || !m.Stopping {
			t.Errorf("%+v", m)
		}
		if m := r.reportOf("the executor is there", func(m report) bool { return m.Runner == "" }); m.pool != "pool:images/3" {
			t.Errorf("%+v", m)
		}
		r.command(&events.RunnerCommands{To: events.Connection{Executor: first.Executor}, Pool: "pool:images", Close: frames.CloseGoingAway.Reason}) // of another shard
		c.alive()
		r.command(&events.RunnerCommands{To: events.Connection{Executor: first.Executor}, Pool: "pool:images/3", Close: frames.CloseGoingAway.Reason})
		c.closed(frames.CloseGoingAway)

		for id, want := range map[string]string{"images/3.1.8": "pool:images/3", "images.1.8": "pool:images", "images/33.1.8": "pool:images", "other/3.1.8": "pool:images", "x": "pool:images"} {
			again := initial()
			again.RunnerID = id
			r.dial(query).send(again)
			if m := r.hello(); m.pool != want {
				t.Errorf("one that was %s greets %s, want %s", id, m.pool, want)
			}
		}
	})
}
