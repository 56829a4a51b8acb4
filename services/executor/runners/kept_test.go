package runners_test

import (
	"context"
	"encoding/json"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/services/executor/keeping"
	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// keeps runs fn with an executor that passes requests for keys on to the owners of attempts.
func keeps(t *testing.T, fn func(t *testing.T, r *rig), change ...func(*kafka.Config)) {
	t.Helper()
	var k *keeping.Keeper
	in(t, func(t *testing.T, r *rig) {
		t.Cleanup(func() {
			if err := k.Close(); err != nil {
				t.Error(err)
			}
		})
		fn(t, r)
	}, func(c *runners.Config) {
		to := c.Kafka
		for _, f := range change {
			f(&to)
		}
		k = keeping.New(keeping.Config{Kafka: to})
		c.KV = k
	})
}

// owned connects a runner; the owner of its attempts answers as a script says.
func (r *rig) owned(script requesttest.Script) *runner {
	r.t.Helper()
	requesttest.Start(r.t, r.Config, script)
	return r.connect()
}

func (c *runner) ask(id uint64, q frames.KvRequest) {
	c.t.Helper()
	c.send(&frames.ToServerKvRequest{RequestID: id, Token: text("w"), Inner: q})
}

// anyID is of an answer to whichever request.
const anyID = math.MaxUint64

// answered takes an answer, behind pongs; the code is empty where it is done.
func (c *runner) answered(id uint64, code string) *frames.ToClientKvResponse {
	c.t.Helper()
	var f *frames.ToClientKvResponse
	for f == nil {
		next := frame[frames.ToClient](c)
		if _, pong := next.(*frames.ToClientPong); !pong {
			f, _ = next.(*frames.ToClientKvResponse)
			if f == nil {
				c.t.Fatalf("the frame is %T %+v", next, next)
			}
		}
	}
	got := ""
	if f.Error != nil {
		got = f.Error.Code
	}
	if id != anyID && f.RequestID != id || got != code {
		c.t.Fatalf("the answer is %+v %+v, want one of %d with the code %q", f, f.Error, id, code)
	}
	return f
}

var one = []frames.KvEntry{{Key: "k", Value: json.RawMessage(`{"n":1}`)}}

func TestRequestsForKeysGoToTheOwnerOfTheAttempt(t *testing.T) {
	keeps(t, func(t *testing.T, r *rig) {
		asked := make(chan requesttest.Request, 10)
		c := r.owned(func(q requesttest.Request) []events.Reply {
			asked <- q
			if q.Query != nil {
				return []events.Reply{requesttest.Answer(`{"entries":[{"key":"k","value":{"n":2}}]}`)}
			}
			return requesttest.Echo(q)
		})
		c.ask(1, &frames.KvPut{Entries: one})
		c.answered(1, "")
		q := <-asked
		if body := q.Command.Body.(*events.KeepKeys); q.Command.Workflow != "w" || body.Token != text("w") || len(body.Delete) != 0 || body.Put[0].Key != "k" || string(body.Put[0].Value) != `{"n":1}` {
			t.Errorf("the owner is told %+v", q.Command)
		}
		c.ask(2, &frames.KvDelete{Keys: []string{"a", "b"}})
		c.answered(2, "")
		if body := (<-asked).Command.Body.(*events.KeepKeys); strings.Join(body.Delete, " ") != "a b" || len(body.Put) != 0 {
			t.Errorf("the owner is told %+v", body)
		}
		c.ask(3, &frames.KvGet{Keys: []string{"k", "x"}})
		if f := c.answered(3, ""); len(f.Entries) != 1 || f.Entries[0].Key != "k" || string(f.Entries[0].Value) != `{"n":2}` {
			t.Errorf("the answer is %+v", f)
		}
		if q := (<-asked).Query; q.Kind != events.KeptQuery || q.Workflow != "w" || q.Token != text("w") || strings.Join(q.Keys, " ") != "k x" {
			t.Errorf("the owner is asked %+v", q)
		}
		c.ask(4, &frames.KvList{Prefix: "k", Reverse: true, Limit: 7})
		c.answered(4, "")
		if q := (<-asked).Query; q.Prefix != "k" || !q.Reverse || q.Limit != 7 || len(q.Keys) != 0 {
			t.Errorf("the owner is asked %+v", q)
		}
		c.ask(5, &frames.KvPut{})
		c.answered(5, "")
		c.send(&frames.ToServerKvRequest{RequestID: 6, Token: "none", Inner: &frames.KvDelete{Keys: []string{"a"}}})
		c.answered(6, frames.KvUnknownAttempt)
		if len(asked) > 0 {
			t.Errorf("the owner is asked %+v", <-asked)
		}
	})
}

// A value is passed on as it is, byte for byte: another way to write it might be longer than may be kept.
func TestValuesArePassedOnAsTheyAre(t *testing.T) {
	keeps(t, func(t *testing.T, r *rig) {
		asked := make(chan requesttest.Request, 1)
		c := r.owned(func(q requesttest.Request) []events.Reply {
			asked <- q
			return requesttest.Echo(q)
		})
		page := json.RawMessage(`"` + strings.Repeat("<b>&\u2028</b>", 100) + `"`)
		c.ask(1, &frames.KvPut{Entries: []frames.KvEntry{{Key: "<k>", Value: page}}})
		c.answered(1, "")
		if put := (<-asked).Command.Body.(*events.KeepKeys).Put[0]; put.Key != "<k>" || string(put.Value) != string(page) {
			t.Errorf("the owner is to keep %d bytes at %q, want %d", len(put.Value), put.Key, len(page))
		}
	})
}

func TestRefusalsOfTheOwnerAreTold(t *testing.T) {
	keeps(t, func(_ *testing.T, r *rig) {
		code := make(chan string, 1)
		c := r.owned(func(requesttest.Request) []events.Reply {
			return []events.Reply{requesttest.Refuse(<-code, "it says", "")}
		})
		for i, test := range []struct{ owner, runner string }{
			{"attempt_closed", frames.KvUnknownAttempt}, {"not_found", frames.KvUnknownAttempt}, {"store_full", frames.KvFull}, {"too_large", frames.KvFull},
			{"invalid_field", frames.KvInvalidValue}, {"unknown_command", frames.KvUnavailable},
		} {
			code <- test.owner
			c.ask(uint64(i), &frames.KvPut{Entries: one})
			if f := c.answered(uint64(i), test.runner); f.Error.Message != "it says" {
				c.t.Errorf("%s: %+v", test.owner, f.Error)
			}
		}
		code <- "attempt_closed"
		c.ask(9, &frames.KvGet{Keys: []string{"k"}})
		c.answered(9, frames.KvUnknownAttempt)
		large := json.RawMessage(`"` + strings.Repeat("v", events.MaxKeptValue-2) + `"`)
		c.ask(10, &frames.KvPut{Entries: []frames.KvEntry{{Key: "a", Value: large}, {Key: "b", Value: large}, {Key: "c", Value: large}, {Key: "d", Value: large}}})
		c.answered(10, frames.KvFull)
	})
}

// K02: an owner that does not answer. A change is asked for again under its id; then it is unknown whether it is done.
func TestK02AnOwnerThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	for name, q := range map[string]frames.KvRequest{"a change": &frames.KvPut{Entries: one}, "a question": &frames.KvList{}} {
		t.Run(name, func(t *testing.T) {
			keeps(t, func(t *testing.T, r *rig) {
				ids, asked := map[string]int{}, 0
				c := r.owned(func(q requesttest.Request) []events.Reply {
					if q.Command != nil {
						ids[q.Command.ID]++
					}
					if asked++; asked != 3 {
						return nil
					}
					return requesttest.Echo(q)
				})
				began := time.Now()
				c.ask(1, q)
				c.whilePinging(func() { c.answered(1, "") })
				if d := time.Since(began); d < 10*time.Second || d > 16*time.Second {
					t.Errorf("it was answered after %s", d)
				}
				began = time.Now()
				c.ask(2, q)
				var f *frames.ToClientKvResponse
				c.whilePinging(func() { f = c.answered(2, frames.KvUnavailable) })
				if d := time.Since(began); d < 20*time.Second || d > 21*time.Second || !strings.Contains(f.Error.Message, "unknown") {
					t.Errorf("after %s: %+v", d, f.Error)
				}
				if _, is := q.(*frames.KvPut); is && len(ids) != 2 {
					t.Errorf("two changes were asked for under the ids %v", ids)
				}
			})
		})
	}
}

// whilePinging keeps the socket meanwhile.
func (c *runner) whilePinging(do func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			case <-time.After(2 * time.Second):
				c.send(&frames.ToServerPing{})
			}
		}
	}()
	do()
	close(over)
	<-ended
}

// K03: the socket breaks while the owner is asked. Its answer goes nowhere, and others are served.
func TestK03AnAnswerWithoutASocketIsDropped(t *testing.T) {
	keeps(t, func(_ *testing.T, r *rig) {
		goOn := make(chan struct{})
		c := r.owned(func(q requesttest.Request) []events.Reply {
			<-goOn
			return requesttest.Echo(q)
		})
		c.ask(1, &frames.KvPut{Entries: one})
		c.drop()
		r.gone()
		c = r.connect()
		close(goOn)
		c.ask(2, &frames.KvPut{Entries: one})
		c.answered(2, "")
	})
}

func TestK05RequestsThatWaitHaveALimit(t *testing.T) {
	keeps(t, func(t *testing.T, r *rig) {
		goOn := make(chan struct{})
		c := r.owned(func(q requesttest.Request) []events.Reply {
			<-goOn
			return requesttest.Echo(q)
		})
		for i := range uint64(101) {
			c.ask(i, &frames.KvPut{Entries: one})
		}
		if f := c.answered(100, frames.KvUnavailable); !strings.Contains(f.Error.Message, "not done") {
			t.Errorf("the answer is %+v", f.Error)
		}
		close(goOn)
		for range 100 {
			if f := frame[*frames.ToClientKvResponse](c); f.Error != nil {
				t.Errorf("the answer is %+v", f.Error)
			}
		}
		c.ask(200, &frames.KvPut{Entries: one})
		c.answered(200, "")
	})
}

// Requests that come while the executor connects to Kafka for the first of them wait with it, no longer than any request may.
func TestRequestsWaitForTheFirstConnection(t *testing.T) {
	for name, test := range map[string]struct {
		connecting time.Duration
		code       string
		least      time.Duration
	}{"slow": {time.Second, "", time.Second}, "away": {time.Hour, frames.KvUnavailable, 20 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			keeps(t, func(t *testing.T, r *rig) {
				c := r.owned(requesttest.Echo)
				began := time.Now()
				for i := range uint64(3) {
					c.ask(i, &frames.KvPut{Entries: one})
				}
				c.whilePinging(func() {
					for range 3 {
						c.answered(anyID, test.code)
					}
				})
				if d := time.Since(began); d < test.least || d > test.least+5*time.Second {
					t.Errorf("they were answered after %s", d)
				}
			}, func(c *kafka.Config) { connects(c, test.connecting) })
		})
	}
}

// connects has each connection to a broker take a while.
func connects(c *kafka.Config, takes time.Duration) {
	dial := c.Dialer
	c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case <-time.After(takes):
			return dial(ctx, network, addr)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// What a runner may send, and what the owner of an attempt keeps, have the same limits.
func TestK05LimitsOfFramesAreThoseOfOwners(t *testing.T) {
	if frames.MaxKvKeys != events.MaxKept || frames.MaxKvKey != events.MaxKeptKey || frames.MaxKvValue != events.MaxKeptValue {
		t.Error("frames allow what owners do not keep, or the other way round")
	}
}
