package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	keylimits "github.com/heddle-run/heddle/services/planner/limits"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// message is what an entity tells another.
type message struct {
	to   string
	said *events.EntityMessage
}

// tellKey lets a key decide what a workflow tells it. What it grants is delivered behind the decision.
func (w *world) tellKey(from string, e machine.Effect) {
	if !strings.HasPrefix(e.Key, events.KeyPrefix) {
		return
	}
	w.keyDecides(machine.Input{Workflow: e.Key, Source: events.FromInbox, Inbox: &events.EntityMessage{From: from, Body: e.Value}})
}

// keyDecides lets a key decide an input.
func (w *world) keyDecides(in machine.Input) {
	w.keySeq++
	tx := rows.Begin(&w.keys)
	out := keylimits.Machine{}.Decide(tx, events.Position{Epoch: 1, Seq: w.keySeq}, w.now, in)
	w.keys.Commit(tx.Writes())
	for _, said := range out.Effects {
		w.granted = append(w.granted, message{said.Key, &events.EntityMessage{From: in.Workflow, Body: said.Value}})
	}
}

// deliverGrants lets workflows decide what keys have told them, unless that is slow.
func (w *world) deliverGrants() {
	for len(w.granted) > 0 && !w.slow {
		m := w.granted[0]
		w.granted = w.granted[1:]
		w.decide(machine.Input{Workflow: m.to, Source: events.FromInbox, Inbox: m.said})
	}
}

// showKey prints who holds a key's permits and who waits for one.
func (w *world) showKey(out *bytes.Buffer, kind, name string) {
	r := keylimits.Machine{}.Query(rows.Begin(&w.keys), w.now, &events.Query{Kind: "key", Workflow: events.KeyOf(kind, name)})
	if r.Refusal != nil {
		fmt.Fprintln(out, r.Refusal.Code)
		return
	}
	var k events.KeyState
	w.must(json.Unmarshal(r.Body, &k))
	if kind == events.BreakerKey {
		fmt.Fprintf(out, "%s, %d of %d failed", k.State, k.Failures, k.Limit)
		if k.Next != "" {
			fmt.Fprintf(out, ", until %s", k.Next)
		}
	} else {
		fmt.Fprintf(out, "%d of %d", k.Held, k.Limit)
	}
	for _, p := range k.Holders {
		fmt.Fprintf(out, ", %s %s holds one", p.Workflow, p.Runnable)
	}
	for _, p := range k.Queue {
		fmt.Fprintf(out, ", %s %s waits", p.Workflow, p.Runnable)
	}
	fmt.Fprintln(out)
}
