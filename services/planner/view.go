package planner

import (
	"encoding/json"
	"strconv"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/rows"
)

// summary is what the workflow's status says as of the last record.
func (vw *view) summary() events.Summary {
	h, s := vw.head, vw.setup()
	out := events.Summary{
		ID: vw.id, Run: h.Run, Status: h.Status.String(),
		Definition: events.DefinitionRef{Name: s.Name, Version: s.Version, Digest: s.Digest},
		Labels:     s.Labels, Partition: vw.p.cfg.Partition,
		Created: events.Stamp(s.Created), Updated: events.Stamp(h.Updated), Position: h.Applied,
		Counts: events.Counts{
			Ready: h.Ready, Waiting: h.Waiting, Active: h.Active, Completed: h.Completed, Failed: h.Failed,
			Skipped: h.Skipped, Suppressed: h.Suppressed, Cancelled: h.Cancelled,
			Uncertain: h.uncertain(),
		},
	}
	if f := h.Failure; f != nil {
		out.Failure = &events.Failure{Component: vw.component(f.Component).Name, Runnable: f.Runnable.String(), Error: f.Error}
	}
	if r := h.Trouble; r != nil {
		if r.Quarantine != "" { // whatever failed before: this keeps it from going on
			out.Failure = &events.Failure{Error: events.TaskError{Type: errorQuarantined, Message: r.Quarantine}}
		}
		out.ConditionErrors = vw.conditionErrors(r)
		if r.Refused > 0 {
			out.Refusals = &events.Refusals{Count: r.Refused, Last: r.LastRefusal}
		}
	}
	out.Signals = vw.keptSignals()
	out.Notice = vw.noticeTrouble()
	return out
}

// now is the summary for those who ask: it says, too, what passes without a word of the journal's.
func (vw *view) now() events.Summary {
	s := vw.summary()
	s.InHand = vw.head.Status == Failed && vw.head.inHand() > 0
	return s
}

// keptSignals are the signals that nobody has taken; nil: there are none.
func (vw *view) keptSignals() *events.KeptSignals {
	n := vw.head.signalled().Kept
	if n == 0 {
		return nil
	}
	out := &events.KeptSignals{Count: n}
	rows.Scan(vw.tx, rows.Key{Table: rows.Signal, Workflow: vw.id}, func(_ rows.Key, s *keptSignal) bool {
		out.First = append(out.First, events.KeptSignal{
			Name: vw.graph().Signals[s.Name].Name, Key: s.Key, ReceivedAt: events.Stamp(s.Received).String(), ExpiresAt: events.Stamp(s.Expires).String(),
		})
		return len(out.First) < events.MaxFirstSignals
	})
	return out
}

// conditionErrors are the conditions that could not be evaluated; nil: all could.
func (vw *view) conditionErrors(all *trouble) *events.ConditionErrors {
	if all.BadConditions == 0 {
		return nil
	}
	out := &events.ConditionErrors{Count: all.BadConditions}
	for _, id := range all.FirstBad {
		r := vw.runs.get(id)
		err := *r.Error
		err.Message = events.Cut(err.Message, events.MaxSummaryText)
		out.First = append(out.First, events.Failure{Component: vw.component(r.Component).Name, Runnable: id.String(), Error: err})
	}
	return out
}

// encodedSummary is the summary as JSON.
func (vw *view) encodedSummary() []byte {
	s := vw.summary()
	return events.EncodeSummary(&s)
}

func stampOrNil(ms int64) any {
	if ms == 0 {
		return nil
	}
	return events.Stamp(ms).String()
}

// page reads the bounds of a list query.
func page(q *events.Query) (from uint64, limit int, refusal *events.Refusal) {
	limit = int(q.Limit)
	if limit <= 0 || limit > maxQueryItems {
		limit = maxQueryItems
	}
	if q.Cursor == "" {
		return 0, limit, nil
	}
	from, err := strconv.ParseUint(q.Cursor, 10, 64)
	if err != nil {
		return 0, 0, &events.Refusal{Code: "invalid_field", Path: "cursor", Message: "is not a cursor of this list"}
	}
	return from, limit, nil
}

// list collects up to limit items and knows where the next page begins. It ends, too,
// when it has looked at enough.
type list struct {
	Items    []any  `json:"items"`
	Next     string `json:"next_cursor,omitempty"`
	LookedAt int    `json:"looked_at,omitempty"` // where it ended because of that; else 0
	limit    int
	looks    int
}

// look counts what is looked at, and reports whether it may be.
func (l *list) look(at uint64) bool {
	if l.looks == maxQueryLooks {
		l.Next, l.LookedAt = strconv.FormatUint(at, 10), l.looks
		return false
	}
	l.looks++
	return true
}

func (l *list) add(at uint64, item any) bool {
	if len(l.Items) == l.limit {
		l.Next = strconv.FormatUint(at, 10)
		return false
	}
	l.Items = append(l.Items, item)
	return true
}

type factView struct {
	ID        string          `json:"id"`
	Component *string         `json:"component"` // null: an input
	Value     json.RawMessage `json:"value"`
	Parents   []string        `json:"parents"`
	Scope     string          `json:"scope"`
	Depth     uint32          `json:"depth"`
	Time      string          `json:"time"`
	Runnable  string          `json:"runnable,omitempty"`
}

func (vw *view) factList(q *events.Query) (any, *events.Refusal) {
	from, limit, refusal := page(q)
	if refusal != nil {
		return nil, refusal
	}
	out := list{Items: []any{}, limit: limit}
	vw.facts.each(events.FactID(from), func(id events.FactID, f *fact) bool {
		v := factView{
			ID: id.String(), Value: f.Value, Parents: []string{}, Scope: vw.facts.path(f.Scope),
			Depth: f.Depth, Time: events.Stamp(f.Time).String(),
		}
		for _, p := range f.Parents {
			if p != 0 {
				v.Parents = append(v.Parents, p.String())
			}
		}
		if f.Component > 0 {
			v.Component = &vw.component(f.Component - 1).Name
		}
		if f.Runnable != 0 {
			v.Runnable = f.Runnable.String()
		}
		return out.add(uint64(id), v)
	})
	return out, nil
}

type runnableView struct {
	ID        string            `json:"id"`
	Component string            `json:"component"`
	Task      string            `json:"task"`
	Queue     string            `json:"queue"`
	Status    string            `json:"status"`
	Attempt   uint32            `json:"attempt"`
	Token     *string           `json:"token"`
	Input     json.RawMessage   `json:"input"`
	Result    json.RawMessage   `json:"result"`
	Error     *events.TaskError `json:"error"`
	DueAt     any               `json:"due_at"`
	Scope     string            `json:"scope"`
	Element   *uint64           `json:"element"`
	Created   any               `json:"created_at"`
	Sent      any               `json:"dispatched_at"`
	WaitsFor  string            `json:"waits_for,omitempty"`
	Executor  string            `json:"executor,omitempty"`
	Pool      string            `json:"pool,omitempty"`
	Fallback  string            `json:"fallback,omitempty"` // the form of the one that was applied
	Key       string            `json:"idempotency_key,omitempty"`
	Kept      *keptView         `json:"kept,omitempty"`
	Attempts  []attemptView     `json:"attempts"`
}

type keptView struct {
	Keys  uint64 `json:"keys"`
	Bytes uint64 `json:"bytes"`
}

type attemptView struct {
	Attempt  uint32            `json:"attempt"`
	Outcome  string            `json:"outcome"`
	Error    *events.TaskError `json:"error"`
	ClosedAt any               `json:"closed_at"`
	For      string            `json:"for,omitempty"` // fallback or probe; empty: the component's own task
}

// Cursors from here on are in the second and in the third part of the list of
// runnables.
const (
	othersFrom     = 1 << 62
	suppressedFrom = 1 << 63
)

// asked reads what a query of runnables wants: an empty list, where it begins, and what it has.
func (vw *view) asked(q *events.Query) (out list, from uint64, pick picking, refusal *events.Refusal) {
	from, limit, refusal := page(q)
	if refusal == nil {
		pick, refusal = vw.pick(q)
	}
	return list{Items: []any{}, limit: limit}, from, pick, refusal
}

// runnableList lists completed ones (from their facts), then those that are not,
// then the suppressed ones, which never were; each in the order of their making.
func (vw *view) runnableList(q *events.Query) (any, *events.Refusal) {
	out, from, pick, refusal := vw.asked(q)
	if refusal != nil {
		return nil, refusal
	}
	if from < othersFrom && pick.mayBe("completed") {
		vw.listCompleted(&out, from, pick)
	}
	if out.Next == "" && from < suppressedFrom && q.Filter != "completed" {
		vw.listOthers(&out, max(from, othersFrom)-othersFrom, pick)
	}
	if out.Next == "" && pick.mayBe("suppressed") {
		vw.listSuppressed(&out, max(from, suppressedFrom)-suppressedFrom, pick)
	}
	return out, nil
}

func (vw *view) listCompleted(out *list, from uint64, p picking) {
	vw.facts.each(events.FactID(from), func(id events.FactID, f *fact) bool {
		if !out.look(uint64(id)) {
			return false
		}
		return f.Runnable == 0 || !p.isOf(f.Component-1) || out.add(uint64(id), vw.completedView(f))
	})
}

func (vw *view) listOthers(out *list, from uint64, p picking) {
	rows.Scan(vw.tx, rows.Key{Table: rows.Runnable, Workflow: vw.id, A: from}, func(k rows.Key, r *runnable) bool {
		if !out.look(othersFrom + k.A) {
			return false
		}
		return !p.wants(r) || out.add(othersFrom+k.A, vw.openView(events.RunnableID(k.A), r))
	})
}

func (vw *view) listSuppressed(out *list, from uint64, p picking) {
	rows.Scan(vw.tx, rows.Key{Table: rows.Suppressed, Workflow: vw.id, A: from}, func(k rows.Key, s *suppression) bool {
		if !out.look(suppressedFrom + k.A) {
			return false
		}
		return !p.isOf(s.Component) || out.add(suppressedFrom+k.A, vw.suppressedView(k.A, s))
	})
}

func (vw *view) completedView(f *fact) runnableView {
	c := vw.component(f.Component - 1)
	v := runnableView{
		ID: f.Runnable.String(), Component: c.Name, Task: c.Task, Queue: c.Queue, Status: "completed", Attempt: f.Attempt,
		Result: f.Value, Scope: vw.facts.path(f.Scope), Element: vw.facts.element(f.Scope), Executor: f.Executor, Fallback: fallbackName(f.Fell), Attempts: pastViews(f.Past),
	}
	if !f.Partial { // what a reduce had come to is not kept
		v.Input = vw.came(c, activation{parents: f.Parents})
	}
	if f.Attempt > 0 && (f.Fell == 0 || f.Fell.Attempts()) {
		last := attemptView{Attempt: f.Attempt, Outcome: "completed", ClosedAt: stampOrNil(f.Time)}
		if f.Fell != 0 {
			last.For = events.ForFallback.String()
		}
		v.Attempts = append(v.Attempts, last)
	}
	return v
}

func (vw *view) openView(id events.RunnableID, r *runnable) runnableView {
	c := vw.component(r.Component)
	task, queue := r.work(c)
	v := runnableView{
		ID: id.String(), Component: c.Name, Task: task, Queue: queue, Status: r.Status.String(), Fallback: fallbackName(r.Fell),
		Attempt: r.Attempt, Input: vw.came(c, activation{parents: r.Parents, input: r.Input}), Error: r.Error,
		DueAt: dueOf(r), Scope: vw.facts.path(r.Scope), Element: vw.facts.element(r.Scope),
		Key:     r.Key,
		Created: stampOrNil(r.Created), Sent: stampOrNil(r.Since), WaitsFor: vw.waitsFor(c, r), Executor: r.Executor, Attempts: pastViews(r.Past),
	}
	if attempt, decided, any := r.decidable(); any {
		token := events.TokenText(vw.token(id, attempt, decided))
		v.Token = &token
	}
	if r.Kept != nil {
		v.Kept = (*keptView)(r.Kept)
	}
	if r.Status == runActive {
		v.Pool = r.poolName()
		v.Attempts = append(v.Attempts, attemptView{Attempt: r.Attempt, Outcome: "open", For: r.For.String()})
	}
	return v
}

// decidable is the attempt that a token may complete or fail: the one in doubt, else the open one.
func (r *runnable) decidable() (attempt uint32, decided events.Position, any bool) {
	switch {
	case r.Doubt != nil && r.Status.open():
		return r.Doubt.Attempt, r.Doubt.Decided, true
	case r.Status == runActive:
		return r.Attempt, r.Decided, true
	}
	return 0, events.Position{}, false
}

// fallbackName is the name of the form that was fallen back to; empty: there was none.
func fallbackName(f policy.Form) string {
	if f == 0 {
		return ""
	}
	return f.String()
}

// came is what arrived at a component; null where that is forgotten.
func (vw *view) came(c *definition.Component, a activation) json.RawMessage {
	if c.Gone { // nobody knows any more how it was put together
		return json.RawMessage("null")
	}
	for _, id := range a.parents {
		if id != 0 && vw.facts.get(id) == nil {
			return json.RawMessage("null")
		}
	}
	return vw.facts.value(c, a)
}

// suppressedView shows an activation that never became a runnable: its number
// is not of a runnable, so no command can mean it.
func (vw *view) suppressedView(n uint64, s *suppression) runnableView {
	c := vw.component(s.Component)
	return runnableView{
		ID: "s" + strconv.FormatUint(n, 10), Component: c.Name, Task: c.Task, Queue: c.Queue, Status: "suppressed",
		Scope: vw.facts.path(s.Scope), Element: vw.facts.element(s.Scope), Attempts: []attemptView{},
	}
}

func pastViews(past []pastAttempt) []attemptView {
	all := make([]attemptView, 0, len(past)+1)
	for i := range past {
		a := &past[i]
		v := attemptView{Attempt: a.Attempt, Outcome: a.Outcome, Error: &a.Error, ClosedAt: stampOrNil(a.Time), For: a.For.String()}
		if a.Outcome == outcomeAnswered || a.Outcome == outcomeSlept {
			v.Error = nil
		}
		all = append(all, v)
	}
	return all
}
