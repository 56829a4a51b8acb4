package sim

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/sim/workload"
	"github.com/heddle-run/heddle/shared/events"
)

// auditJournals holds the lawful records against the conduct of workflows, what
// callers were told, and what takers met.
func (w *world) auditJournals(journals [][]*events.Record) {
	decided := map[string][]*events.Record{}
	positions := map[string]bool{}
	for p, records := range journals {
		var planned []*events.Record
		for _, rec := range records {
			w.coverage.record(rec)
			positions[at(p, rec.Position)] = true
			if rec.ID != "" {
				key := rec.Workflow + "\x00" + rec.ID
				decided[key] = append(decided[key], rec)
			}
			if w.plan.Workflow(rec.Workflow) != nil && workload.OfMachine(rec) {
				planned = append(planned, rec)
			}
		}
		w.auditInputs(p, records)
		if err := workload.CheckConduct(w.plan, w.ledger, false, planned); err != nil {
			w.failAbout(ofPartition(int32(p)), "conduct: %w", err)
		}
	}
	if err := w.ledger.Complaints(); err != nil {
		w.fail("tasks: %w", err)
	}
	w.auditCalls(decided)
	w.auditHistories()
	for p := range w.doubtful {
		w.present(p, positions)
	}
	w.auditTasks(positions)
}

func at(p int, pos events.Position) string { return fmt.Sprintf("%d/%s", p, pos) }

// auditInputs holds that each place of an input log is decided once, in order
// (J3): positions go back only where a record says so.
func (w *world) auditInputs(p int, records []*events.Record) {
	type input struct {
		source     events.Source
		generation uint32
	}
	next, again := map[input]int64{}, map[events.Source]int{}
	for _, rec := range records {
		s := rec.Input.Source
		if s != events.FromCommands && s != events.FromInbox {
			continue
		}
		k := input{s, rec.Input.Generation}
		if rec.Input.Offset < next[k] && again[s] > 0 {
			again[s]-- // asked for; what was decided meanwhile is read again too
		} else if rec.Input.Offset < next[k] {
			w.failAbout(ofPartition(int32(p)), "partition %d, record %s decides %s@%d (generation %d) again or out of order: %d is next",
				p, rec.Position, s, rec.Input.Offset, k.generation, next[k])
		}
		next[k] = rec.Input.Offset + 1
		if _, ok := rec.Events[0].(*events.ReplayRequested); ok {
			again[events.FromCommands]++
			again[events.FromInbox]++
		}
	}
}

// auditCalls holds that every command that was answered is decided by exactly
// one lawful record, and that repetitions got the first answer.
func (w *world) auditCalls(decided map[string][]*events.Record) {
	answers := map[string]*call{}
	for _, c := range w.calls {
		if c.id == "" {
			if r := c.reply.Refusal; r != nil {
				w.coverage.refusal(r.Code)
			}
			continue
		}
		w.coverage.command(c.what)
		key := c.workflow + "\x00sim\x00" + c.id
		records := once(decided[key])
		if r := c.reply.Refusal; c.ended > 0 && r != nil {
			w.coverage.refusal(r.Code)
			if len(records) == 0 { // one that is not understood, or too old, or a conflict, has no id in its record
				continue
			}
		}
		if len(records) > 1 || len(records) == 0 && c.ended > 0 {
			w.failAbout(w.workflow(c.workflow), "the command %s %q (%s) has %d records, its answer is %s", c.what, c.id, c.workflow, len(records), replyText(c.reply))
			continue
		}
		if c.ended == 0 {
			continue
		}
		first := answers[key]
		if first == nil {
			answers[key] = c
			continue
		}
		if a, b := w.answerOf(first), w.answerOf(c); a != b && string(first.body) == string(c.body) {
			w.failAbout(w.workflow(c.workflow), "the command %s %q of %s was answered with %s and with %s", c.what, c.id, c.workflow, a, b)
		}
	}
}

// once leaves out the takeover of a claimant that obeyed an operator's word while
// the owner did so too: both release the one lease, and both say for whom.
func once(records []*events.Record) []*events.Record {
	if n := len(records); n == 2 && records[1].Position.Seq == 1 && records[1].Position.Epoch == records[0].Position.Epoch+1 {
		return records[:1]
	}
	return records
}

// answerOf is what all answers to one command have in common. Of what an owner
// says whose records are void already, only the verdict is the same.
func (w *world) answerOf(c *call) string {
	r := c.reply
	r.ID, r.Command = "", "" // one made again after a takeover does not know its command
	if w.doubtful[kafka.PartitionFor([]byte(c.workflow), w.plan.Partitions)] {
		r.Body = nil
	}
	return replyText(r)
}

func replyText(r events.Reply) string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// present adds the records that are in a journal and void. An owner whose lease
// was taken by an operator's word, or kept by a wrong clock, may let effects out
// for them: effects are as safe as the lease is.
func (w *world) present(p int32, positions map[string]bool) {
	for _, k := range w.c.log(w.c.names.Journal(), p).visible() {
		if h, err := journal.ParseHeaders(k.Headers); err == nil {
			positions[at(int(p), h.Position)] = true
		}
	}
}

// auditTasks holds that no task was out before its record counted: write-ahead,
// but for those that say otherwise.
func (w *world) auditTasks(positions map[string]bool) {
	for _, t := range w.tasks {
		p := int(kafka.PartitionFor([]byte(t.workflow), w.plan.Partitions))
		if !t.early && !positions[at(p, t.token.Decided)] {
			w.failAbout(w.workflow(t.workflow), "a task of %s, attempt %d of %s, was out and its record %s does not count", t.workflow, t.token.Attempt, t.token.Runnable, t.token.Decided)
		}
	}
}
