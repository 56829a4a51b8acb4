package sim

import (
	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/calls"
)

// auditClients holds what clients of a partition were told against its records.
func (au *audit) auditClients(p int32, records []*events.Record) {
	written, all := au.written(p), au.callsOf(p)
	au.auditTold(p, all, written)
	au.auditReads(p, all, records, written)
}

// auditTold holds that nobody was told of a record before it counted: what an
// answer is as of is acknowledged before the answer leaves (E1, E6). The client
// need not meet a crash for that: the journal says when each record was written.
// What may be told of void records where a lease was broken, auditBroken knows.
func (au *audit) auditTold(p int32, all []*calls.Call, written map[events.Position]int64) {
	for _, c := range all {
		at, ok := c.Told()
		tick, counts := written[at]
		switch {
		case !ok || !counts && au.doubtful[p] > 0:
		case !counts:
			au.failAbout(au.workflow(c.Workflow), "the %s %q of %s was told of record %s, which does not count: %s", c.What, c.ID, c.Workflow, at, calls.ReplyText(c.Reply))
		case tick >= c.Ended:
			au.failAbout(au.workflow(c.Workflow), "the %s %q of %s was told at %d of record %s, which was written at %d: %s", c.What, c.ID, c.Workflow, c.Ended, at, tick, calls.ReplyText(c.Reply))
		}
	}
}

// written are the ticks at which the records of a journal that count were
// written.
func (au *audit) written(p int32) map[events.Position]int64 {
	var filter journal.Filter
	all := map[events.Position]int64{}
	for _, k := range au.journal(p) {
		if h, err := journal.ParseHeaders(k.Headers); err == nil && h.Lawful(&filter) {
			all[h.Position] = au.decided[inLog{p, k.Offset}]
		}
	}
	return all
}
