package sim

import (
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// auditKeys holds what keys have granted against their limits.
func (au *audit) auditKeys(journals [][]*events.Record) {
	if err := workload.CheckKeys(journals, len(au.thinned)+len(au.doubtful) > 0); err != nil {
		au.fail("keys: %w", err)
	}
}

// generous is a machine with a flaw: a key forgets at a recovery that it has granted a permit.
type generous struct{ machine.Machine }

// Apply implements machine.Machine.
func (g generous) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	if strings.HasPrefix(rec.Workflow, events.KeyPrefix) {
		told := *rec
		told.Events = slices.DeleteFunc(slices.Clone(rec.Events), func(e events.Event) bool { _, is := e.(*events.PermitIssued); return is })
		return g.Machine.Apply(tx, &told, guarded)
	}
	return g.Machine.Apply(tx, rec, guarded)
}

// timeless is a machine with a flaw: a rate forgets at a recovery when it has granted its permits.
type timeless struct{ machine.Machine }

// Apply implements machine.Machine.
func (l timeless) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	if strings.HasPrefix(rec.Workflow, events.KeyOf(events.RateKey, "")) {
		told := *rec
		told.Time = 1
		return l.Machine.Apply(tx, &told, guarded)
	}
	return l.Machine.Apply(tx, rec, guarded)
}

// greedy is a machine with a flaw: what an attempt holds that did not complete is not given back.
type greedy struct{ machine.Machine }

// Decide implements machine.Machine.
func (g greedy) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	return keeping(g.Machine.Decide(tx, at, now, in))
}

// Apply implements machine.Machine.
func (g greedy) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	return keeping(g.Machine.Apply(tx, rec, guarded))
}

func keeping(out machine.Outcome) machine.Outcome {
	if slices.ContainsFunc(out.Events, func(e events.Event) bool { _, is := e.(*events.RunnableFailed); return is }) {
		out.Effects = slices.DeleteFunc(slices.Clone(out.Effects), func(e machine.Effect) bool {
			return e.Kind == machine.MessageEffect && strings.HasPrefix(e.Key, events.KeyPrefix)
		})
	}
	return out
}

// closing is a machine with a flaw: a breaker forgets at a recovery that it is open.
type closing struct{ machine.Machine }

// Apply implements machine.Machine.
func (c closing) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	told := *rec
	told.Events = slices.DeleteFunc(slices.Clone(rec.Events), func(e events.Event) bool { _, is := e.(*events.BreakerTurned); return is })
	return c.Machine.Apply(tx, &told, guarded)
}

// probing is a machine with a flaw: a breaker that is half open forgets whom it has let try, and lets another one.
type probing struct{ machine.Machine }

// Decide implements machine.Machine.
func (p probing) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := p.Machine.Decide(tx, at, now, in)
	i := slices.IndexFunc(out.Events, func(e events.Event) bool { _, is := e.(*events.PermitIssued); return is })
	if i < 0 || !slices.ContainsFunc(out.Events, func(e events.Event) bool {
		turned, is := e.(*events.BreakerTurned)
		return is && turned.To == events.BreakerHalfOpen
	}) {
		return out
	}
	id := out.Events[i].(*events.PermitIssued).Permit
	over := events.KeyMessage{Verb: events.KeyReturn, Runnable: id.Runnable, Asked: id.Asked}
	next := p.Machine.Decide(tx, at, now, machine.Input{
		Workflow: in.Workflow, Source: events.FromInbox, Inbox: &events.EntityMessage{From: id.Workflow, Body: wire.Marshal(&over)},
	})
	next.Events = append(out.Events, slices.DeleteFunc(next.Events, func(e events.Event) bool { _, is := e.(*events.PermitOver); return is })...)
	next.Effects = append(out.Effects, next.Effects...)
	return next
}

// recounting is a machine with a flaw: a return of a breaker's permit that comes again finds the permit again. Each one does.
type recounting struct{ *forgetless }

// Decide implements machine.Machine.
func (r recounting) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := r.forgetless.Decide(tx, at, now, in)
	failed := func(e events.Event) bool {
		over, is := e.(*events.PermitOver)
		return is && over.Verdict == events.VerdictFailed
	}
	if slices.ContainsFunc(out.Events, failed) {
		again := r.forgetless.Decide(tx, at, now, in)
		again.Events, again.Effects = append(out.Events, again.Events...), append(out.Effects, again.Effects...)
		return again
	}
	return out
}

// failure reports whether an event is the end of a permit whose attempt has failed, as breakers count it.
func failure(e events.Event) bool {
	over, is := e.(*events.PermitOver)
	return is && over.Verdict == events.VerdictFailed
}
