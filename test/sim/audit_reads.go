package sim

import (
	"bytes"
	"math"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/calls"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// auditReads holds every answered read of all clients against the journal: it
// says what folding gives right behind a record that was the workflow's newest
// at some time between the question and the answer, and behind all commands that
// were written before the question (E6). So nobody sees what is undone later, nor
// misses what counted when it was asked. What a deposed owner
// may answer whose lease was broken, auditBroken knows.
func (au *audit) auditReads(p int32, all []*calls.Call, records []*events.Record, written map[events.Position]int64) {
	r := reads{records: records, written: written, known: au.known(p, records, written), open: map[string][]*calls.Call{}}
	doubts := au.doubts(p, records, written)
	for _, c := range all {
		if c.Asked != nil && tells(c) && !doubts.about(c) {
			r.open[c.Workflow] = append(r.open[c.Workflow], c)
		}
	}
	r.begin()
	if err := workload.States(secret, p, records, r.behind); err != nil {
		au.failAbout(ofPartition(p), "%w", err)
	}
	for _, id := range sortedKeys(r.open) {
		for _, c := range r.open[id] {
			au.failAbout(au.workflow(id), "reads: at no time from %d to %d the answer to %q of %s was %s", c.Began, c.Ended, c.What, id, calls.ReplyText(c.Reply))
		}
	}
}

// tells reports whether an answer is about the workflow, and not about the question.
func tells(c *calls.Call) bool {
	return c.Reply.Refusal == nil || c.Reply.Refusal.Code == "not_found"
}

// reads are what is asked of the workflows of a partition.
type reads struct {
	records []*events.Record          // that count
	written map[events.Position]int64 // their ticks
	known   []int64                   // the ticks from which on a question has to be answered behind them
	until   []int64                   // of each, that of the next record of the same workflow
	open    map[string][]*calls.Call  // that no state has explained yet, by workflow
}

// known are the ticks from which on a question has to be answered behind the
// records of a partition: that of the command that a record decides, as commands
// are read to their end for each question (E6), else the record's own. What is
// read again a day later is refused, and changes nothing.
func (au *audit) known(p int32, records []*events.Record, written map[events.Position]int64) []int64 {
	all := make([]int64, len(records))
	for i, rec := range records {
		all[i] = written[rec.Position]
		_, refused := rec.Events[0].(*events.CommandRefused)
		if rec.Input.Source == events.FromCommands && events.OfMachine(rec) && !refused {
			all[i] = au.commandedBefore(inLog{p, rec.Input.Offset}, all[i])
		}
	}
	return all
}

// commandedBefore is the tick at which a command was written that a record decides
// which was written at a tick, or that of the record. A log that lost its tail, or
// was made anew, has had others in the command's place before.
func (au *audit) commandedBefore(at inLog, decided int64) int64 {
	for _, tick := range slices.Backward(au.commanded[at]) {
		if tick <= decided {
			return tick
		}
	}
	return decided
}

// begin finds when each record's workflow has another one, and explains what was
// not there before its first one.
func (rd *reads) begin() {
	next := map[string]int64{}
	rd.until = make([]int64, len(rd.records))
	for i := len(rd.records) - 1; i >= 0; i-- {
		rec := rd.records[i]
		rd.until[i] = math.MaxInt64
		if tick, ok := next[rec.Workflow]; ok {
			rd.until[i] = tick
		}
		next[rec.Workflow] = min(rd.until[i], rd.known[i])
	}
	for id := range rd.open {
		first, ok := next[id]
		rd.explain(id, func(c *calls.Call) bool { return c.Reply.Refusal != nil && (!ok || c.Began < first) })
	}
}

// behind explains what was asked while the i-th record was its workflow's newest.
func (rd *reads) behind(i int, answer func(*events.Query) events.Reply) {
	rec := rd.records[i]
	from, until := rd.written[rec.Position], rd.until[i]
	rd.explain(rec.Workflow, func(c *calls.Call) bool {
		return from < c.Ended && c.Began < until && same(c.Reply, answer(c.Asked))
	})
}

// explain takes out what is lawful.
func (rd *reads) explain(id string, lawful func(*calls.Call) bool) {
	kept := rd.open[id][:0]
	for _, c := range rd.open[id] {
		if !lawful(c) {
			kept = append(kept, c)
		}
	}
	if rd.open[id] = kept; len(kept) == 0 {
		delete(rd.open, id)
	}
}

// same reports whether two answers tell the same of a workflow.
func same(a, b events.Reply) bool {
	return (a.Refusal == nil) == (b.Refusal == nil) && bytes.Equal(a.Body, b.Body)
}
