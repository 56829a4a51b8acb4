package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// notices are the receivers of completion notices: what each has had, in the order in which
// it had it first. The status topic and topics of others are known by their ids, too.
type notices struct {
	called  []string                   // by HTTP
	emitted map[string]bool            // into a topic
	stated  map[string]bool            // on status
	bodies  map[string]json.RawMessage // of the first
	changed map[string]string          // that said something else later: only a journal that has lost records lets them
	fail    func(format string, args ...any)
}

func newNotices(fail func(string, ...any)) notices {
	return notices{emitted: map[string]bool{}, stated: map[string]bool{}, bodies: map[string]json.RawMessage{}, changed: map[string]string{}, fail: fail}
}

// patientCalls are how many calls of a notice may fail.
const patientCalls = 5

// call is how a model of an executor calls the receiver of a notice: it may have had a call
// that nobody knows to be done.
func (t *worker) call(e *execution) {
	var request struct {
		Headers map[string]string `json:"headers"`
		URL     string            `json:"url"`
		Body    json.RawMessage   `json:"body"`
	}
	if err := json.Unmarshal(e.task.Input, &request); err != nil || request.URL != workload.ReceiverURL || request.Headers["Ce-Id"] != e.task.IdempotencyKey {
		t.w.failAbout(t.w.workflow(e.workflow), "a call of %s is %s (%v), its key %q", e.workflow, e.task.Input, err, e.task.IdempotencyKey)
		e.how, e.ends = t.outcome(e, events.OutcomeUnknownTask), e.began
		return
	}
	o := t.outcome(e, events.OutcomeCompleted)
	o.Started, o.Result = e.began.UnixMilli(), json.RawMessage("204")
	e.how, e.ends = o, e.began.Add(20*time.Millisecond)
	kind := t.w.rng.IntN(8)
	if e.task.Attempt > patientCalls { // else the retries of some would outlast the run
		kind = 7
	}
	switch kind {
	case 0, 1:
		o.Outcome, o.Result = events.OutcomeFailed, nil
		o.Error = &events.TaskError{Type: "http_status", Message: "503"}
	case 2:
		o.Outcome, o.Result, e.ends = events.OutcomeTimedOut, nil, e.began.Add(time.Duration(e.task.Timeout)*time.Millisecond)
	}
	if kind != 1 { // it has had this one, whatever it has answered
		t.w.notices.call(e.task.IdempotencyKey, request.Body)
	}
}

func (n *notices) call(id string, body json.RawMessage) {
	if !slices.Contains(n.called, id) {
		n.called = append(n.called, id)
	}
	n.same(id, body)
}

// same holds that all that is ever sent of a drain says the same.
func (n *notices) same(id string, body json.RawMessage) {
	var c events.Completion
	if err := json.Unmarshal(body, &c); err != nil || c.ID != id {
		n.fail("the notice %s is %s: %v", id, body, err)
		return
	}
	if first := n.bodies[id]; first != nil && !equalJSON(first, body) {
		n.changed[id] = fmt.Sprintf("the notice %s is %s, and again %s", id, first, body)
		return
	}
	n.bodies[id] = slices.Clone(body)
}

func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// wrote takes a record of the status topic or of one of others.
func (n *notices) wrote(names interface{ Status() string }, rec *kgo.Record) {
	into := n.emitted
	switch {
	case rec.Topic == names.Status() && strings.HasPrefix(string(rec.Key), events.NoticePrefix):
		into = n.stated
	case rec.Topic != workload.NoticesTopic:
		return
	}
	if len(rec.Value) == 0 {
		return
	}
	var c events.Completion
	if err := json.Unmarshal(rec.Value, &c); err != nil {
		n.fail("a notice in %s: %v", rec.Topic, err)
		return
	}
	into[c.ID] = true
	n.same(c.ID, rec.Value)
}

// lacks is what is missing of what must be told of a drain; empty: nothing.
func (n *notices) lacks(d workload.Drain) string {
	switch {
	case !n.stated[d.ID]:
		return "the status topic does not have its notice"
	case d.Topic && !n.emitted[d.ID]:
		return "its topic does not have its notice"
	case d.URL && !slices.Contains(n.called, d.ID):
		return "its receiver was not called"
	}
	return ""
}

// owedNotices are the drains that somebody has not been told of. What an input log has lost
// may have been the message that would have.
func (au *audit) owedNotices(journals [][]*events.Record) (all []owed) {
	gaveUp, left := map[string]bool{}, make([][]string, len(journals))
	for p, records := range journals {
		var some map[string]bool
		left[p], some = workload.Deliveries(records)
		maps.Copy(gaveUp, some)
	}
	for p, records := range journals {
		for _, d := range au.drains(records) {
			d.URL = d.URL && !au.lossy(d) && !gaveUp[events.NoticesOf(d.Workflow, d.Run)]
			if what := au.notices.lacks(d); what != "" {
				all = append(all, owed{int32(p), d.At, "the workflow drains, and " + what})
			}
		}
		if len(left[p]) > 0 && !au.thinned[place{au.c.names.Inbox(), int32(p)}] {
			all = append(all, owed{int32(p), records[len(records)-1].Position, fmt.Sprintf("notices are not over: %q", left[p])})
		}
	}
	return all
}

func (au *audit) lossy(d workload.Drain) bool {
	return au.thinned[place{au.c.names.Inbox(), au.partition(events.NoticesOf(d.Workflow, d.Run))}]
}

func (au *audit) drains(records []*events.Record) []workload.Drain {
	drains, err := workload.Drains(au.plan, records)
	if err != nil {
		au.fail("drains: %w", err)
	}
	return drains
}

// auditNotices holds that nobody was told of what has not happened, and that the notices of
// a run came in order.
func (au *audit) auditNotices(journals [][]*events.Record) {
	known, doubtful := map[string]bool{}, len(au.doubtful) > 0
	for _, records := range journals {
		for _, d := range au.drains(records) {
			known[d.ID] = true
		}
	}
	for _, id := range sortedKeys(au.notices.changed) {
		if !au.lostWith(id) {
			au.fail("%s", au.notices.changed[id])
		}
	}
	last := map[string]int{}
	for _, id := range au.notices.called {
		run, text, _ := strings.Cut(id, "/drain-")
		n := 0
		_, _ = fmt.Sscan(text, &n) // a bad one is not known
		if n <= last[run] && len(au.thinned) == 0 && !doubtful {
			au.fail("the receiver had drain %d of %s behind drain %d", n, run, last[run])
		}
		last[run] = n
		if !known[id] && !au.lostWith(id) {
			au.fail("the receiver was called for %s, which no journal has", id)
		}
	}
	for _, told := range []map[string]bool{au.notices.emitted, au.notices.stated} {
		for _, id := range sortedKeys(told) {
			if !known[id] && !au.lostWith(id) {
				au.fail("somebody was told of %s, which no journal has", id)
			}
		}
	}
}

// lostWith reports whether the journal that has the drain of a notice may have lost records.
func (au *audit) lostWith(id string) bool {
	run := id[:max(0, strings.LastIndexByte(id, '/'))]
	return au.inDoubt(run[:max(0, strings.LastIndexByte(run, '/'))])
}

// unsaid is a machine with a flaw: what is told of a drain is lost at a crash.
type unsaid struct{ machine.Machine }

// Apply implements machine.Machine.
func (u unsaid) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	out := u.Machine.Apply(tx, rec, guarded)
	if slices.ContainsFunc(rec.Events, func(e events.Event) bool { _, is := e.(*events.WorkflowDrained); return is }) {
		out.Effects = slices.DeleteFunc(slices.Clone(out.Effects), func(e machine.Effect) bool {
			return e.Kind == machine.NoticeEffect || e.Kind == machine.EmitEffect || e.Kind == machine.MessageEffect
		})
	}
	return out
}

// renaming is a machine with a flaw: each attempt to deliver a notice has an id of its own.
type renaming struct{ machine.Machine }

// Decide implements machine.Machine.
func (r renaming) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	return renamed(r.Machine.Decide(tx, at, now, in))
}

// Apply implements machine.Machine.
func (r renaming) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	return renamed(r.Machine.Apply(tx, rec, guarded))
}

// Task implements machine.Machine.
func (r renaming) Task(tx *rows.Tx, id string, a *machine.Attempt, runnable events.RunnableID) (machine.Effect, bool) {
	e, ok := r.Machine.Task(tx, id, a, runnable)
	if ok {
		e = renamedTask(e)
	}
	return e, ok
}

func renamed(out machine.Outcome) machine.Outcome {
	out.Effects = slices.Clone(out.Effects)
	for i, e := range out.Effects {
		if e.Kind == machine.TaskEffect {
			out.Effects[i] = renamedTask(e)
		}
	}
	return out
}

func renamedTask(e machine.Effect) machine.Effect {
	task := &events.Task{}
	if !strings.HasPrefix(e.Key, events.NoticePrefix) || wire.Unmarshal(e.Value, task) != nil || task.Attempt < 2 {
		return e
	}
	another := fmt.Sprintf("%s0", task.IdempotencyKey)
	task.Input = json.RawMessage(strings.ReplaceAll(string(task.Input), fmt.Sprintf("%q", task.IdempotencyKey), fmt.Sprintf("%q", another)))
	task.IdempotencyKey = another
	e.Value = wire.Marshal(task)
	return e
}
