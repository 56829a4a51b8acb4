package planner

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// ended takes deliveries that a record has ended: each was one, and ends once.
func (w *world) ended(all []machine.Ended) {
	w.t.Helper()
	for _, e := range all {
		token := string(w.p.sealer.Seal(e.Token))
		if _, dispatched := w.published[token]; !dispatched || w.over[token] {
			w.t.Fatalf("the delivery %+v ends; it was dispatched: %t, and has ended: %t", e, dispatched, w.over[token])
		}
		if e.At != w.now || e.Since == 0 || e.Since > e.At || e.Notified > e.At || !e.Failed && e.Notified == 0 {
			w.t.Fatalf("at %d the delivery %+v ends", w.now, e)
		}
		w.over[token] = true
	}
	w.endings = append(w.endings, all...)
}

// deliveredAll reports deliveries of a workflow that have neither ended nor are those of open attempts.
func (w *world) deliveredAll(id string) {
	w.t.Helper()
	open := map[string]bool{}
	rows.Scan(rows.Begin(&w.state), runnableKey(id, 0), func(k rows.Key, r *runnable) bool {
		if d, ok := w.p.Delivery(rows.Begin(&w.state), id, events.RunnableID(k.A)); ok {
			open[string(w.p.sealer.Seal(d.Token))] = true
		}
		return true
	})
	for token, e := range w.published {
		if e.Key == id && open[token] == w.over[token] {
			t, err := events.PeekToken([]byte(token))
			w.must(err)
			w.t.Fatalf("the delivery %+v is open: %t, and has ended: %t", t, open[token], w.over[token])
		}
	}
}

// deliveries prints those of a workflow that have ended, then the open ones.
func (w *world) deliveries(out io.Writer, id string) {
	w.t.Helper()
	tell := func(d *machine.Delivery, status string) {
		var task events.Task
		w.must(wire.Unmarshal(w.published[string(w.p.sealer.Seal(d.Token))].Value, &task))
		fmt.Fprintf(out, "%s %d %s", task.Component, d.Token.Attempt, status)
		if d.Reason != "" {
			fmt.Fprintf(out, ": %s", d.Reason)
		}
		if d.Deferred {
			fmt.Fprint(out, ", deferred")
		}
		fmt.Fprintln(out)
	}
	for i := range w.endings {
		if e := &w.endings[i]; e.Token.Workflow == id {
			tell(&e.Delivery, map[bool]string{true: "failed", false: "delivered"}[e.Failed])
		}
	}
	for _, token := range slices.Sorted(maps.Keys(w.published)) {
		t, err := events.PeekToken([]byte(token))
		w.must(err)
		d, ok := w.p.Delivery(rows.Begin(&w.state), id, t.Runnable)
		if ok && t == d.Token {
			tell(&d, map[bool]string{true: "pending", false: "notified"}[d.Pending])
		}
	}
}

// notified lets a worker say that it has a component's open attempt, by a channel, or that it has handed that on.
func (w *world) notified(id, component string, detached bool) {
	w.t.Helper()
	w.decide(machine.Input{Workflow: id, Source: events.FromInbox, Inbox: &events.TaskNotified{
		Token: w.taskOf(id, component).Token, Channel: "ch", Executor: "x", Detached: detached,
	}})
}
