package runners_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// What became of a task its workflow hears, by the token, and the pool that it has begun or stopped.
func TestWhatATaskDoesIsToldToItsWorkflowAndThePool(t *testing.T) {
	failed := func(kind string) *frames.TaskError {
		return &frames.TaskError{Type: kind, Message: "no more", NonRetryable: true, RetryAfter: 7, Details: json.RawMessage(`[1]`)}
	}
	outcome := func(o events.Outcome) func(t *testing.T, m events.InboxMessage) {
		return func(t *testing.T, m events.InboxMessage) {
			got, is := m.(*events.TaskOutcome)
			if !is || got.Outcome != o || got.Executor != "ann" || got.Finished == 0 {
				t.Fatalf("the workflow hears %T %+v, want %s", m, m, o)
			}
			if o == events.OutcomeCompleted {
				if string(got.Result) != `{ "n":1}` || got.Error != nil {
					t.Errorf("the outcome is %+v", got)
				}
				return
			}
			if e := got.Error; e == nil || e.Message != "no more" || !e.NonRetryable || e.RetryAfterMs != 7 || string(e.Details) != "[1]" {
				t.Errorf("the error is %+v", got.Error)
			}
		}
	}
	beat := func(want string) func(t *testing.T, m events.InboxMessage) {
		return func(t *testing.T, m events.InboxMessage) {
			if got, is := m.(*events.TaskHeartbeat); !is || string(got.Details) != want {
				t.Errorf("the workflow hears %T %+v", m, m)
			}
		}
	}
	wish := func(want events.TaskWish) func(t *testing.T, m events.InboxMessage) {
		return func(t *testing.T, m events.InboxMessage) {
			want.Token = token("w")
			if got, is := m.(*events.TaskWish); !is || !reflect.DeepEqual(*got, want) {
				t.Errorf("the workflow hears %T %+v", m, m)
			}
		}
	}
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		for i, test := range []struct {
			event frames.Event
			state events.TaskState
			hears func(*testing.T, events.InboxMessage) // nil: nothing
		}{
			{state(0, "w", frames.StateRunning, nil), events.TaskRunning, func(t *testing.T, m events.InboxMessage) {
				if n, is := m.(*events.TaskNotified); !is || n.Channel != "runner" || n.Executor != "ann" || !n.Detached {
					t.Errorf("the workflow hears %T %+v", m, m)
				}
			}},
			{frames.Event{Inner: &frames.Heartbeat{Token: text("w")}}, events.TaskOther, beat("null")},
			{frames.Event{Inner: &frames.Heartbeat{Token: text("w"), Details: json.RawMessage(`{"at": 3}`)}}, events.TaskOther, beat(`{"at": 3}`)},
			{frames.Event{Inner: &frames.TaskIntent{Token: text("w"), Intent: frames.IntentStop}}, events.TaskLeaving, nil},
			{frames.Event{Inner: &frames.TaskIntent{Token: text("w"), Intent: frames.IntentSleep}}, events.TaskLeaving, wish(events.TaskWish{Sleep: true})},
			{frames.Event{Inner: &frames.SetAlarm{Token: text("w")}}, events.TaskOther, wish(events.TaskWish{Sets: true})},
			{frames.Event{Inner: &frames.SetAlarm{Token: text("w"), At: new(int64(77))}}, events.TaskOther, wish(events.TaskWish{Sets: true, Alarm: 77})},
			{frames.Event{Inner: &frames.SetAlarm{Token: text("w"), At: new(int64)}}, events.TaskOther, wish(events.TaskWish{Sets: true, Alarm: 1})},
			{state(0, "w", frames.StateStopped, failed("sleeping")), events.TaskUnfinished, nil},
			{state(0, "w", frames.StateStopped, nil), events.TaskStopped, outcome(events.OutcomeCompleted)},
			{state(0, "w", frames.StateStopped, failed("boom")), events.TaskStopped, outcome(events.OutcomeFailed)},
			{state(0, "w", frames.StateStopped, failed("")), events.TaskStopped, outcome(events.OutcomeFailed)},
			{state(0, "w", frames.StateStopped, failed("timeout")), events.TaskStopped, outcome(events.OutcomeTimedOut)},
			{state(0, "w", frames.StateStopped, failed("timed_out")), events.TaskStopped, outcome(events.OutcomeTimedOut)},
			{state(0, "w", frames.StateStopped, failed("cancelled")), events.TaskStopped, outcome(events.OutcomeCancelled)},
			{state(0, "w", frames.StateStopped, failed("unknown_task")), events.TaskStopped, outcome(events.OutcomeUnknownTask)},
			{state(0, "w", frames.StateStopped, failed("going_away")), events.TaskUnfinished, nil},
			{state(0, "w", frames.StateStopped, failed("lost")), events.TaskUnfinished, nil},
			{state(0, "w", frames.StateStopped, failed("replaced")), events.TaskUnfinished, nil},
			{state(0, "w", frames.StateStopped, failed("shutdown")), events.TaskUnfinished, nil},
		} {
			test.event.Index = int64(i)
			c.events(test.event)
			m := r.told()
			if m.Runner != "images.1.1" || m.Session != 1 || len(m.Events) != 1 || m.Events[0].Index != uint64(i) || m.Events[0].State != test.state || string(m.Events[0].Token) != string(token("w")) {
				t.Fatalf("event %d: the pool hears %+v", i, m.RunnerReport)
			}
			if test.hears == nil {
				r.quiet(100 * time.Millisecond)
				continue
			}
			if got := r.message(); got.workflow == "w" {
				test.hears(t, got.InboxMessage)
			}
		}
	})
}

// collect are the events that a pool hears until one of an index has come.
func (r *rig) collect(last uint64) (all []uint64) {
	r.t.Helper()
	for len(all) == 0 || all[len(all)-1] < last {
		for _, e := range r.told().Events {
			all = append(all, e.Index)
		}
	}
	return all
}

func TestE02OnlyNewEventsCount(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		var all []frames.Event
		for i := range int64(7) {
			all = append(all, state(i, "w", frames.StateRunning, nil))
		}
		c.events(all[:5]...)
		r.collect(4)
		c.events(all[3:]...)
		if got := r.collect(6); !slices.Equal(got, []uint64{5, 6}) {
			t.Errorf("then the pool hears of %v", got)
		}
		for range 7 {
			r.message()
		}
		r.quiet(time.Second)
	})
}

func TestE03WhatWasSeenIsNotAcknowledgedAgain(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		c.events(state(0, "w", frames.StateRunning, nil))
		if f := frame[*frames.ToClientAckEvents](c); f.LastEventIdx != 0 {
			t.Errorf("acknowledged is %d", f.LastEventIdx)
		}
		r.told()
		r.message()
		c.events(state(0, "w", frames.StateRunning, nil))
		r.quiet(3 * time.Second)
		c.alive() // and no acknowledgement before
	})
}

func TestE04ManyEventsAreAcknowledgedAtOnce(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c, began := r.connect(), time.Now()
		for i := range int64(501) {
			c.events(state(i, "w", frames.StateRunning, nil))
		}
		if f := frame[*frames.ToClientAckEvents](c); f.LastEventIdx != 500 || time.Since(began) >= 700*time.Millisecond {
			t.Errorf("acknowledged is %d after %s", f.LastEventIdx, time.Since(began))
		}
		r.quietFrames(c)
	})
}

// quietFrames holds that nothing comes for longer than any acknowledgement waits.
func (r *rig) quietFrames(c *runner) {
	r.t.Helper()
	<-time.After(2 * time.Second)
	c.alive()
}

func TestE05AFewEventsAreAcknowledgedBehindThem(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		for i := range int64(10) {
			c.events(state(i, "w", frames.StateRunning, nil))
			<-time.After(200 * time.Millisecond) // they are no silence
		}
		began := time.Now()
		if f := frame[*frames.ToClientAckEvents](c); f.LastEventIdx != 9 || time.Since(began) > time.Second {
			t.Errorf("acknowledged is %d after %s", f.LastEventIdx, time.Since(began))
		}
		r.quietFrames(c)
	})
}

func TestE06AnotherSocketGoesOnBehindWhatCounted(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		c.events(state(0, "w", frames.StateRunning, nil), state(1, "w", frames.StateStopped, nil))
		r.collect(1)
		c.drop()
		r.gone()
		c = r.dial(query)
		c.send(initial())
		r.welcome(r.hello(), 2)
		if f := c.init(); f.LastEventIdx != 1 {
			t.Errorf("the last one is %d", f.LastEventIdx)
		}
		c.events(state(1, "w", frames.StateStopped, nil), state(2, "v", frames.StateRunning, nil))
		if got := r.collect(2); !slices.Equal(got, []uint64{2}) {
			t.Errorf("the pool hears of %v", got)
		}
	})
}

// A token that is none is an event that counts, and changes nothing.
func TestE08AStaleTokenIsDropped(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		c.events(frames.Event{Index: 0, Inner: &frames.Heartbeat{Token: "nothing"}}, frames.Event{Index: 1, Inner: &frames.TaskState{Token: "tAAAA", State: frames.StateRunning}}, state(2, "w", frames.StateRunning, nil))
		if got := r.collect(2); !slices.Equal(got, []uint64{0, 1, 2}) {
			t.Errorf("the pool hears of %v", got)
		}
		if m := r.message(); m.workflow != "w" {
			t.Errorf("%q hears %+v", m.workflow, m.InboxMessage)
		}
		r.quiet(time.Second)
	})
}

func TestMissingEventsEndTheSocket(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		c.events(state(0, "w", frames.StateRunning, nil), state(2, "w", frames.StateRunning, nil))
		c.closed(frames.CloseInvalidPacket)
		r.gone()
		c = r.connect()
		c.events(state(0, "nobody's", frames.StateRunning, nil))
		r.told()
		r.message()
		c.events(state(2, "w", frames.StateRunning, nil))
		c.closed(frames.CloseInvalidPacket)
		r.gone()
		r.quiet(time.Second) // nothing of them counts
	})
}

// A runner whose pool has forgotten events that it had acknowledged does not have them any more: the others reach their workflows, and the pool learns of
// the gap.
func TestTheFirstEventsSayWhatThePoolHasForgotten(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.dial(query)
		c.send(initial())
		r.welcome(r.hello(), 3)
		c.init()
		c.events(state(7, "w", frames.StateStopped, nil), state(8, "v", frames.StateRunning, nil))
		if m := r.told(); len(m.Events) != 2 || m.Events[0].Index != 7 {
			t.Errorf("the pool hears %+v", m.RunnerReport)
		}
		if o, is := r.message().InboxMessage.(*events.TaskOutcome); !is || o.Outcome != events.OutcomeCompleted {
			t.Errorf("the workflow hears %+v", o)
		}
		r.message()
		c.alive()
	})
}

// An outcome is in Kafka before the pool hears that the task has stopped: an executor that dies between the two is asked again.
func TestTheWorkflowHearsBeforeThePool(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		for i := range int64(40) {
			c.events(state(2*i, "w", frames.StateRunning, nil), state(2*i+1, "w", frames.StateStopped, nil))
		}
		for counted := 0; counted < 80; {
			counted += len(r.told().Events)
			for len(r.messages) < counted { // they are in the log already: nobody produces any more
				r.poll(50 * time.Millisecond)
				if len(r.messages) == 0 {
					t.Fatal("the pool hears before the workflow")
				}
			}
		}
	})
}

// What ends a runner, or its socket, comes behind the events that came before, however long Kafka takes for those.
func TestTheEndComesBehindTheEventsBeforeIt(t *testing.T) {
	var away atomic.Bool
	in(t, func(t *testing.T, r *rig) {
		for what, end := range map[string]func(*runner){
			"it stops":           func(c *runner) { c.send(&frames.ToServerStopping{}) },
			"its socket is gone": func(c *runner) { c.drop() },
		} {
			c := r.connect()
			away.Store(true)
			c.events(state(0, "w", frames.StateRunning, nil))
			end(c)
			<-time.After(5 * time.Second)
			away.Store(false)
			first := r.reportOf("something became of the runner", func(m report) bool { return len(m.Events) > 0 || m.Stopping || m.Closed != "" })
			if len(first.Events) != 1 {
				t.Errorf("%s before its event counts: %+v", what, first.RunnerReport)
			}
			if !first.Stopping && first.Closed == "" {
				r.reportOf("it has ended", func(m report) bool { return m.Stopping || m.Closed != "" })
			}
			c.drop()
		}
	}, func(c *runners.Config) { silence(c, &away) })
}

// Nothing is acknowledged that Kafka has not taken. Behind a bound the socket is not read on, and it stays.
func TestKafkaIsAway(t *testing.T) {
	var away atomic.Bool
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		away.Store(true)
		go func() { // as far as it is read
			for i := range int64(40) {
				c.events(state(i, "w", frames.StateRunning, nil))
			}
		}()
		for range 5 { // meanwhile it is told that its server is there
			began := time.Now()
			if f := frame[*frames.ToClientPong](c); f.Ts != 0 || time.Since(began) > 6*time.Second {
				t.Errorf("a pong of %d after %s", f.Ts, time.Since(began))
			}
		}
		away.Store(false)
		acked := make(chan bool, 1)
		go func() {
			for f, err := c.next(patience); err == nil; f, err = c.next(patience) {
				if ack, is := f.(*frames.ToClientAckEvents); is && ack.LastEventIdx == 39 {
					acked <- true
					return
				}
			}
			acked <- false
		}()
		if got := r.collect(39); len(got) != 40 {
			t.Errorf("the pool hears of %v", got)
		}
		if !<-acked {
			t.Fatal("the events are not acknowledged")
		}
		c.alive()
	}, func(c *runners.Config) {
		c.Limits.Events = 10
		silence(c, &away)
	})
}

// silence has Kafka hear nothing that is produced while it is away.
func silence(c *runners.Config, away *atomic.Bool) {
	dial := c.Kafka.Dialer
	c.Kafka.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return unheard{conn, away}, err
	}
}

// unheard are connections on which nothing arrives that is produced, while it is away.
type unheard struct {
	net.Conn
	away *atomic.Bool
}

// Write implements net.Conn: a client writes one request at a time.
func (c unheard) Write(request []byte) (int, error) {
	if len(request) >= 6 && c.away.Load() && int16(binary.BigEndian.Uint16(request[4:])) == kmsg.Produce.Int16() {
		return len(request), nil
	}
	return c.Conn.Write(request)
}

// A result that no record holds is shortened to a failure that says so; what else was reported arrives.
func TestALimitThatWasLoweredEndsNoSocket(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		c := r.connect()
		r.Lower(t, r.Topics.Inbox(), 32<<10)
		noise, err := json.Marshal(brokertest.Noise(rand.NewChaCha8([32]byte{}), 200<<10))
		if err != nil {
			t.Fatal(err)
		}
		var large frames.Event
		large.Inner = &frames.TaskState{Token: text("w"), State: frames.StateStopped, OK: true, Result: noise}
		c.events(large, state(1, "v", frames.StateStopped, nil))
		if got := r.collect(1); !slices.Equal(got, []uint64{0, 1}) {
			t.Errorf("the pool hears of %v", got)
		}
		outcomes := map[string]*events.TaskOutcome{}
		for len(outcomes) < 2 { // what was on its way when the client met the topic anew may come twice
			m := r.message()
			outcomes[m.workflow] = m.InboxMessage.(*events.TaskOutcome)
		}
		if o := outcomes["w"]; o.Outcome != events.OutcomeFailed || o.Error.Type != events.ErrorResultTooLarge || !o.Error.NonRetryable {
			t.Errorf("w came to %+v", o)
		}
		if o := outcomes["v"]; o.Outcome != events.OutcomeCompleted {
			t.Errorf("v came to %+v", o)
		}
	})
}
