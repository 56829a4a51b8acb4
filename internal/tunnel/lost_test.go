package tunnel_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/internal/tunnel"
	"github.com/heddle-run/heddle/shared/frames"
)

// relayedTo are the messages of a Caller that go to its runner, and whether it asks where that is.
func relayedTo(c *tunnel.Caller) (all []*frames.Tunnel, asks bool) {
	for _, a := range c.Take() {
		switch a := a.(type) {
		case tunnel.Relay:
			all = append(all, a.Message)
		case tunnel.Ask:
			asks = true
		}
	}
	return all, asks
}

// A runner that goes on with its answer is no reason to wait with what did not get to it, or was lost on the way without a word.
func TestWhatWasLostIsSentAgainWhileTheRunnerGoesOnAnswering(t *testing.T) {
	for name, told := range map[string]bool{"it is told": true, "nobody tells it": false} { // order: each by itself
		t.Run(name, func(t *testing.T) {
			now, at := time.Unix(1_000_000, 0), tunnel.Place{Pool: "p", Runner: "r", Executor: "e", Number: 1}
			c := tunnel.Call("id", now, tunnel.Times{}, at, &frames.WebSocketOpen{Path: "/"})
			c.Received(now, at, &frames.Tunnel{RequestID: "id", Inner: &frames.TunnelAck{}})
			c.Send(now, &frames.WebSocketMessage{Data: []byte("lost")})
			if told {
				c.Missed(now)
			}
			relayedTo(c)
			for i := range uint16(100) { // an answer of which a part comes ten times a second
				now = now.Add(100 * time.Millisecond)
				c.Received(now, at, &frames.Tunnel{RequestID: "id", MessageIdx: i, Inner: &frames.WebSocketMessage{}})
				c.Took(now)
				c.Wake(now)
				if _, asks := relayedTo(c); asks {
					c.Found(now, at, nil)
					all, _ := relayedTo(c)
					if len(all) == 0 || all[0].MessageIdx != 1 {
						t.Fatalf("it sends %+v", all)
					}
					if d := now.Sub(time.Unix(1_000_000, 0)); told && d > time.Second || d > 4*time.Second {
						t.Errorf("it is sent again only after %s", d)
					}
					return
				}
			}
			t.Error("it is never sent again")
		})
	}
}

// An attempt that ends a request while its runner has no socket says so on the next one: the client does not wait for nothing.
func TestAnEndThatWasNotHeardIsToldAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, 1)
		for range 2 {
			w.deliver()
			w.take()
			w.arrive()
		}
		if rapid.Bool().Draw(t, "the client has said something") {
			w.send()
		}
		w.broken()
		w.runner.Refuse(w.now, "r", "the handler has panicked")
		w.perform()
		w.calm = true
		for range 600 {
			w.connect()
			w.found()
			w.deliver()
			w.arrive()
			w.pass(100 * time.Millisecond)
		}
		if !w.over {
			t.Fatal("a minute later the client still waits")
		}
	})
}
