package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/test/sim/workload"
)

const (
	grace = 2 * time.Second // of an attempt before its worker notifies
	beat  = 3 * time.Second // between two heartbeats
)

// worker is a model of an executor: it keeps what workers promise (E2, E3) and has
// no goroutine of its own. The scheduler moves it.
type worker struct {
	w       *world
	slot    int
	name    string
	slots   int
	at      map[place]int64      // read so far
	settled map[string]time.Time // tokens
	open    []*execution
	places  []place // the partitions of queues that it has
}

// execution is an attempt that a worker runs.
type execution struct {
	workflow string
	task     *events.Task
	from     place
	offset   int64
	ends     time.Time // zero: never
	began    time.Time
	looked   time.Time // whether the record that dispatched it counts
	void     bool      // it does not
	last     time.Time // heard of
	said     time.Time // by the task itself
	busy     bool      // the task gives heartbeats, as it must
	notified bool
	guarded  bool // the notification is acknowledged
	how      events.InboxMessage
	reported bool
}

func (w *world) startWorker(slot int) {
	w.starts++
	t := &worker{w: w, slot: slot, name: fmt.Sprintf("t%d.%d", slot, w.starts), slots: w.plan.Slots, at: map[place]int64{}, settled: map[string]time.Time{}}
	for _, q := range queues {
		for p := range int32(queuePartitions) {
			if (int(p)+len(q))%len(w.workers) == slot {
				t.places = append(t.places, place{w.c.names.Tasks(q), p})
			}
		}
	}
	w.workers[slot] = t
}

// position is where a worker reads on: where its group has committed, at first.
func (t *worker) position(at place) int64 {
	if next, ok := t.at[at]; ok {
		return next
	}
	_, next := t.committed(at)
	return next
}

// committed is how far the group of a queue's workers has committed.
func (t *worker) committed(at place) (group string, next int64) {
	group = t.w.c.workers[at.topic]
	return group, t.w.c.brokers.committed(group)[at]
}

// moves adds what a worker could do now. The cluster's lock is held.
func (t *worker) moves(all []move, now time.Time) []move {
	if len(t.open) < t.slots {
		for _, at := range t.places {
			if t.w.c.brokers.readable(at, t.position(at), t.w.c.brokers.epoch(at)) {
				all = append(all, move{what: func() string { return t.name + " takes from " + at.String() }, noise: true, do: func() { t.take(at) }})
			}
		}
	}
	for _, e := range t.open {
		switch {
		case e.reported:
		case !e.ends.IsZero() && !now.Before(e.ends):
			all = append(all, move{what: func() string { return t.name + " reports " + e.String() }, workflow: e.workflow, do: func() { t.report(e) }})
		case e.ends.IsZero() && (t.w.isCancelled(e.task.Token) || t.w.unknown(e, now)):
			all = append(all, move{what: func() string { return t.name + " stops " + e.String() }, workflow: e.workflow, do: func() { t.stop(e) }})
		case !e.notified && (e.task.Announce && e.knows() || now.Sub(e.began) >= grace):
			all = append(all, move{what: func() string { return t.name + " notifies " + e.String() }, workflow: e.workflow, do: func() { t.notify(e) }})
		case e.notified && e.busy && now.Sub(e.said) >= e.every():
			all = append(all, move{what: func() string { return t.name + " says how far " + e.String() + " is" }, workflow: e.workflow, do: func() { t.progress(e) }})
		case e.notified && now.Sub(e.last) >= beat:
			all = append(all, move{what: func() string { return t.name + " beats " + e.String() }, workflow: e.workflow, do: func() { t.heartbeat(e) }})
		}
	}
	for _, at := range t.places {
		group, committed := t.committed(at)
		if next := t.committable(at); next > committed || len(t.unnoted(at)) > 0 {
			all = append(all, move{what: func() string { return t.name + " commits " + at.String() }, noise: true, do: func() { t.w.c.brokers.commit(group, at, next); t.note(at) }})
		}
	}
	return all
}

// committable is how far a worker may commit: not past an attempt that neither
// its outcome nor heartbeats guard (E3).
func (t *worker) committable(at place) int64 {
	next := t.position(at)
	for _, e := range t.open {
		if e.from == at && !e.guarded {
			next = min(next, e.offset)
		}
	}
	return next
}

// note notes with a commit what is done behind it: the metadata of an offset says so.
func (t *worker) note(at place) {
	if t.w.noted[at] == nil {
		t.w.noted[at] = map[int64]bool{}
	}
	for _, offset := range t.unnoted(at) {
		t.w.noted[at][offset] = true
	}
}

// unnoted are the places behind what may be committed that are done, and not noted
// yet.
func (t *worker) unnoted(at place) []int64 {
	var all []int64
	for offset, end := t.committable(at), t.position(at); offset < end; offset++ {
		open := slices.ContainsFunc(t.open, func(e *execution) bool {
			return e.from == at && e.offset == offset && !e.guarded
		})
		if !open && !t.w.noted[at][offset] {
			all = append(all, offset)
		}
	}
	return all
}

func (t *worker) take(at place) {
	rec := t.w.c.record(at, t.position(at))
	t.at[at] = rec.Offset + 1
	task := &events.Task{}
	if err := wire.Unmarshal(rec.Value, task); err != nil {
		t.w.fail("a task cannot be read: %v", err)
		return
	}
	t.w.published(rec, task)
	now := time.Now()
	if t.w.noted[at][rec.Offset] {
		t.settled[string(task.Token)] = now
		return
	}
	if t.knows(task.Token, rec.Timestamp, now) {
		return
	}
	if t.w.isCancelled(task.Token) {
		t.settled[string(task.Token)] = now
		return
	}
	e := &execution{workflow: string(rec.Key), task: task, from: at, offset: rec.Offset, began: now, last: now}
	t.w.tell(t.w.workflow(e.workflow), "  %s begins %s", t.name, e)
	t.open = append(t.open, e)
	t.begin(e)
}

// Records of what a worker has settled are dropped that come or were written up to
// recentFor behind, for as long as it is known.
const (
	recentFor  = 20 * time.Second
	settledFor = time.Hour
)

// knows reports whether a worker runs an attempt, or has settled it and takes a record of
// it for a repetition (E2).
func (t *worker) knows(token []byte, written, now time.Time) bool {
	for _, e := range t.open {
		if bytes.Equal(e.task.Token, token) {
			return true
		}
	}
	at, ok := t.settled[string(token)]
	return ok && now.Sub(at) < settledFor && (now.Sub(at) < recentFor || written.Before(at.Add(recentFor)))
}

// strangersWork is how long the tasks of strangers take.
const strangersWork = 6 * time.Second

// begin decides how an execution goes.
func (t *worker) begin(e *execution) {
	switch t.w.rng.IntN(60) {
	case 0:
		e.how, e.ends = t.outcome(e, events.OutcomeAbandoned), e.began // handed back before it began
		return
	case 1:
		e.how, e.ends = t.outcome(e, events.OutcomeUnknownTask), e.began
		return
	}
	if strings.HasPrefix(e.workflow, events.NoticePrefix) {
		t.call(e)
		return
	}
	if t.w.strangers && t.w.plan.Workflow(e.workflow) == nil {
		o := t.outcome(e, events.OutcomeCompleted)
		o.Result, e.how, e.ends = e.task.Input, o, e.began.Add(strangersWork)
		return
	}
	c := t.w.plan.Component(e.workflow, e.task.Component)
	before, err := t.w.memory.Begin(e.workflow, e.task, t.name)
	what := events.ForResult
	if c != nil && err == nil {
		what, err = c.Purpose(e.task)
	}
	if c == nil || err != nil {
		t.w.failAbout(t.w.workflow(e.workflow), "attempt of %q, component %q: %v", e.workflow, e.task.Component, err)
		e.how, e.ends = t.outcome(e, events.OutcomeUnknownTask), e.began // the run goes on, to say what else is wrong
		return
	}
	o := t.outcome(e, events.OutcomeCompleted)
	o.Started = e.began.UnixMilli()
	e.how, e.ends, e.busy = o, e.began.Add(c.Acts.Takes), e.task.Silence > 0
	switch c.Ends(e.task.Input, before, what) {
	case workload.Succeeds:
		if what == events.ForProbe {
			o.Result, err = c.Look(e.task.Input, t.w.rng.IntN(1<<10))
		} else {
			o.Result, err = c.Result(e.task.Input)
		}
		if err != nil {
			t.w.failAbout(t.w.workflow(e.workflow), "%s of %s: %v", e.task.Component, e.workflow, err)
		}
	case workload.Errs:
		o.Outcome, o.Error = events.OutcomeFailed, &events.TaskError{Type: "temporary", Message: "it may work the next time", RetryAfterMs: 20}
	case workload.Crashes:
		o.Outcome, o.Error = events.OutcomeFailed, &events.TaskError{Type: events.ErrorPanic, Message: "it may work the next time"}
	case workload.Hangs:
		e.ends, e.busy = time.Time{}, false
	}
	if limit := time.Duration(e.task.Timeout) * time.Millisecond; limit > 0 && (e.ends.IsZero() || e.ends.After(e.began.Add(limit))) {
		o.Outcome, o.Result, o.Error, e.ends = events.OutcomeTimedOut, nil, nil, e.began.Add(limit)
	}
}

func (t *worker) outcome(e *execution, how events.Outcome) *events.TaskOutcome {
	return &events.TaskOutcome{Token: e.task.Token, Outcome: how, Executor: t.name}
}

func (t *worker) report(e *execution) {
	e.reported = true
	if o := e.how.(*events.TaskOutcome); o.Started > 0 {
		o.Finished = time.Now().UnixMilli()
	}
	t.say(e, e.how, func() {
		for i, open := range t.open {
			if open == e {
				t.open = append(t.open[:i:i], t.open[i+1:]...)
				t.settled[string(e.task.Token)] = time.Now()
				break
			}
		}
	})
}

// stop ends what would never end by itself and is cancelled.
func (t *worker) stop(e *execution) {
	o := e.how.(*events.TaskOutcome)
	o.Outcome, o.Result, o.Error = events.OutcomeCancelled, nil, nil
	t.report(e)
}

func (t *worker) notify(e *execution) {
	e.notified, e.last, e.said = true, time.Now(), time.Now()
	t.say(e, &events.TaskNotified{Token: e.task.Token, Channel: "sim", Executor: t.name}, func() { e.guarded = true })
}

// guards reports whether a worker runs what no other will be given.
func (t *worker) guards() bool {
	t.w.c.mu.Lock()
	defer t.w.c.mu.Unlock()
	return slices.ContainsFunc(t.open, func(e *execution) bool {
		_, next := t.committed(e.from)
		return !e.reported && next > e.offset
	})
}

func (t *worker) heartbeat(e *execution) {
	e.last = time.Now()
	beat := &events.TaskHeartbeat{Token: e.task.Token}
	if t.w.rng.IntN(3) == 0 && e.task.Silence == 0 { // else the task itself is heard
		beat.Details = e.details()
	}
	t.say(e, beat, func() {})
}

// every is how often a task gives heartbeats that must.
func (e *execution) every() time.Duration {
	return min(time.Second, time.Duration(e.task.Silence)*time.Millisecond/3)
}

// progress gives a heartbeat of the task itself.
func (t *worker) progress(e *execution) {
	e.last, e.said = time.Now(), time.Now()
	t.say(e, &events.TaskHeartbeat{Token: e.task.Token, Details: e.details()}, func() {})
}

// details are what a heartbeat tells: when it was given and, in turn, what the delivery to a program comes to that
// must be prodded, whose leader comes and goes.
func (e *execution) details() json.RawMessage {
	told := []delivery.Reason{"", delivery.LeaderMissingDeferred, delivery.LeaderMissingDeferred, delivery.DeferredNotInjectable, delivery.SendConfirmed}
	at := e.last.UnixMilli()
	reason := told[at/1000%int64(len(told))]
	return json.RawMessage(fmt.Sprintf(`{"at":%d,"delivery":%q,"reason":%q}`, at, reason.State(), reason))
}

// say produces a report to the planner.
func (t *worker) say(e *execution, m events.InboxMessage, acked func()) {
	rec := kafka.Keyed(t.w.c.names.Inbox(), []byte(e.workflow), events.EncodeInbox(m))
	o := &op{what: fmt.Sprintf("%T", m), exec: func() error { return t.w.c.write(rec) }}
	o.done = func(err error) {
		if err == nil && t.w.workers[t.slot] == t {
			acked()
		}
	}
	t.w.c.add(nil, "task/"+t.name, sending, o)
}

// knows reports whether a worker has begun what it took, and does not hand it back.
func (e *execution) knows() bool {
	o := e.how.(*events.TaskOutcome)
	return o.Outcome != events.OutcomeUnknownTask && o.Outcome != events.OutcomeAbandoned
}

func (e *execution) String() string {
	return fmt.Sprintf("%s of %s, attempt %d", e.task.Component, e.workflow, e.task.Attempt)
}
