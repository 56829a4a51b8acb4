package machine

import (
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// Kinds is a Machine of several kinds of entities. The first part of an id, up to the
// first colon, names the kind; an id of no kind that is listed is a workflow's.
type Kinds struct {
	Workflows Machine
	Others    map[string]Machine
}

var (
	_ Machine = Kinds{}
	_ Teller  = Kinds{}
	_ Pooling = Kinds{}
)

// of is the machine of an entity.
func (k Kinds) of(id string) Machine {
	if kind, _, ok := strings.Cut(id, ":"); ok {
		if m := k.Others[kind]; m != nil {
			return m
		}
	}
	return k.Workflows
}

// Decide implements Machine.
func (k Kinds) Decide(tx *rows.Tx, at events.Position, now int64, in Input) Outcome {
	return k.of(in.Workflow).Decide(tx, at, now, in)
}

// Apply implements Machine.
func (k Kinds) Apply(tx *rows.Tx, rec *events.Record, guarded bool) Outcome {
	return k.of(rec.Workflow).Apply(tx, rec, guarded)
}

// Task implements Machine.
func (k Kinds) Task(tx *rows.Tx, id string, a *Attempt, runnable events.RunnableID) (Effect, bool) {
	return k.of(id).Task(tx, id, a, runnable)
}

// Watched implements Machine.
func (k Kinds) Watched(id string) Watched { return k.of(id).Watched(id) }

// Query implements Machine.
func (k Kinds) Query(tx *rows.Tx, now int64, q *events.Query) events.Reply {
	return k.of(q.Workflow).Query(tx, now, q)
}

// Tell implements Teller: of what the id's machine tells, if it is one that does.
func (k Kinds) Tell(before, after *rows.Tx, rec *events.Record, detail bool, told []Told) []Told {
	if teller, ok := k.of(rec.Workflow).(Teller); ok {
		return teller.Tell(before, after, rec, detail, told)
	}
	return told
}

// Delivery implements Machine.
func (k Kinds) Delivery(tx *rows.Tx, id string, runnable events.RunnableID) (Delivery, bool) {
	return k.of(id).Delivery(tx, id, runnable)
}

// RequestID implements Machine.
func (k Kinds) RequestID(t events.Token) string { return k.of(t.Workflow).RequestID(t) }
