package sim

import (
	"fmt"
	"maps"
	"strings"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/calls"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// auditJournals holds the lawful records against how workflows behave, what
// callers were told, and what workers met.
func (au *audit) auditJournals(journals [][]*events.Record) {
	decided := map[string][]*events.Record{}
	positions := map[string]bool{}
	written := map[string]int64{}
	for p, records := range journals {
		var planned []*events.Record
		for _, rec := range records {
			au.coverage.Record(rec)
			positions[at(p, rec.Position)] = true
			written[at(p, rec.Position)] = rec.Time
			if rec.ID != "" {
				key := rec.Workflow + "\x00" + rec.ID
				decided[key] = append(decided[key], rec)
			}
			if au.plan.Workflow(rec.Workflow) != nil && events.OfMachine(rec) {
				planned = append(planned, rec)
			}
		}
		au.auditClocks(int32(p), records)
		au.auditClients(int32(p), records)
		if err := workload.CheckJournal(au.plan, au.memory, false, au.reports(int32(p)), planned); err != nil {
			au.failAbout(ofPartition(int32(p)), "journal: %w", err)
		}
	}
	if err := au.memory.Complaints(); err != nil {
		au.fail("tasks: %w", err)
	}
	au.auditDecisions(decided, written)
	au.auditCommands(journals, decided)
	au.auditCalls(decided)
	au.auditHistories(journals)
	au.auditBroken(journals, decided)
	for p := range au.doubtful {
		au.present(p, positions)
	}
	au.auditTasks(positions)
	au.auditNotices(journals)
	au.auditKeys(journals)
	au.auditPools(journals)
}

func at(p int, pos events.Position) string { return fmt.Sprintf("%d/%s", p, pos) }

// auditDecisions holds that no input is decided twice, also those of which no
// caller knows the id, as they have none. A message that its sender made again when
// it was older than the window may be, as its receiver had forgotten it.
func (au *audit) auditDecisions(decided map[string][]*events.Record, written map[string]int64) {
	window := au.settings().Complete().Window.Milliseconds()
	for _, key := range sortedKeys(decided) {
		records := once(decided[key])
		if len(records) == 2 && records[1].Input.Source == events.FromInbox {
			sender, known := written[senderOf(records[1].ID)]
			if known && records[1].Time-sender > window {
				continue
			}
		}
		if len(records) > 1 {
			au.failAbout(au.workflow(records[0].Workflow), "the input %q is decided by %d records, %s and %s first", key, len(records), records[0].Position, records[1].Position)
		}
	}
}

// senderOf is the partition and the position of the record that sent a message, of the id
// by which its receiver knows it.
func senderOf(id string) string { return id[:max(0, strings.LastIndexByte(id, '/'))] }

// auditCalls holds that every command that was answered is decided by exactly
// one lawful record, and that repetitions got the first answer.
func (au *audit) auditCalls(decided map[string][]*events.Record) {
	answers := calls.Answers{}
	for _, c := range au.calls {
		if c.ID == "" {
			if r := c.Reply.Refusal; r != nil {
				au.coverage.Refusal(r.Code)
			}
			continue
		}
		au.coverage.Command(c.What)
		key := decisionKey(c)
		records := once(decided[key])
		if r := c.Reply.Refusal; c.Ended > 0 && r != nil {
			au.coverage.Refusal(r.Code)
			if len(records) == 0 { // one that is not understood, or too old, or a conflict, has no id in its record
				continue
			}
		}
		if len(records) > 1 || len(records) == 0 && c.Ended > 0 {
			au.failAbout(au.workflow(c.Workflow), "the command %s %q (%s) has %d records, its answer is %s", c.What, c.ID, c.Workflow, len(records), calls.ReplyText(c.Reply))
			continue
		}
		if c.Ended == 0 {
			continue
		}
		if err := answers.Hold(c, au.verdict); err != nil {
			au.failAbout(au.workflow(c.Workflow), "answers: %w", err)
		}
	}
}

// decisionKey is what the record of a command is known by.
func decisionKey(c *calls.Call) string { return c.Workflow + "\x00sim\x00" + c.ID }

// once leaves out the takeover of a claimant that obeyed an operator's word while
// the owner did so too: both release the one lease, and both say for whom.
func once(records []*events.Record) []*events.Record {
	if n := len(records); n == 2 && records[1].Position.Seq == 1 && records[1].Position.Epoch == records[0].Position.Epoch+1 {
		return records[:1]
	}
	return records
}

// verdict is what all answers to one command have in common. Of what an owner
// says whose records are void already, the body is not.
func (au *audit) verdict(c *calls.Call) string {
	if !au.inDoubt(c.Workflow) {
		return c.Verdict()
	}
	told := *c
	told.Reply.Body = nil
	return told.Verdict()
}

func (au *audit) partition(workflow string) int32 {
	return kafka.PartitionFor([]byte(workflow), au.plan.Partitions)
}

func (au *audit) inDoubt(workflow string) bool {
	return au.doubtful[au.partition(workflow)] > 0
}

// auditHistories holds each workflow's calls, as its callers saw them, against
// the specification.
func (au *audit) auditHistories(journals [][]*events.Record) {
	histories, held := au.histories(), calls.Quarantines(journals)
	for _, id := range sortedKeys(histories) {
		if err := histories[id].Check(held[id]...); err != nil {
			au.failAbout(au.workflow(id), "linearizability: %w", err)
		}
	}
}

// isPool reports whether an id is that of a pool, of which CheckPools knows how it behaves.
func isPool(id string) bool { return strings.HasPrefix(id, events.PoolPrefix) }

// histories are the calls by workflow, but of partitions themselves, of pools, and of those
// whose lease was broken (auditBroken).
func (au *audit) histories() map[string]calls.History {
	all := calls.Histories(au.calls)
	maps.DeleteFunc(all, func(id string, _ calls.History) bool {
		_, order := partitionOf(id)
		return order || au.inDoubt(id) || isPool(id)
	})
	return all
}

// present adds the records that are in a journal and void. An owner whose lease
// was taken by an operator's word, or kept by a wrong clock, may send effects
// for them: effects are as safe as the lease is.
func (au *audit) present(p int32, positions map[string]bool) {
	for _, k := range au.journal(p) {
		if h, err := journal.ParseHeaders(k.Headers); err == nil {
			positions[at(int(p), h.Position)] = true
		}
	}
}

// auditTasks holds that no task was out before its record counted: write-ahead,
// but for those that say otherwise.
func (au *audit) auditTasks(positions map[string]bool) {
	for _, t := range au.tasks {
		p := int(au.partition(t.workflow))
		if !t.early && !positions[at(p, t.token.Decided)] {
			au.failAbout(au.workflow(t.workflow), "a task of %s, attempt %d of %s, was out and its record %s does not count", t.workflow, t.token.Attempt, t.token.Runnable, t.token.Decided)
		}
	}
}
