package sim

import (
	"fmt"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/sim/calls"
	"github.com/heddle-run/heddle/shared/events"
)

// auditTold holds that nobody was told of a record before it counted: what an
// answer is as of is acknowledged before the answer leaves (E1, E6). The client
// need not meet a crash for that: the journal says when each record was written.
func (w *world) auditTold(p int32) {
	if w.doubtful[p] > 0 { // what may be told there, auditBroken knows
		return
	}
	written := w.written(p)
	for _, c := range w.callsOf(p) {
		if err := toldEarly(c, written); err != nil {
			w.failAbout(w.workflow(c.Workflow), "told: %w", err)
		}
	}
}

// toldEarly says what is wrong with an answer that tells of a record, by the
// ticks at which the records that count were written.
func toldEarly(c *calls.Call, written map[events.Position]int64) error {
	at, ok := c.Told()
	if !ok {
		return nil
	}
	switch tick, counts := written[at]; {
	case !counts:
		return fmt.Errorf("the %s %q of %s was told of record %s, which does not count: %s", c.What, c.ID, c.Workflow, at, calls.ReplyText(c.Reply))
	case tick >= c.Ended:
		return fmt.Errorf("the %s %q of %s was told at %d of record %s, which was written at %d: %s", c.What, c.ID, c.Workflow, c.Ended, at, tick, calls.ReplyText(c.Reply))
	}
	return nil
}

// written are the ticks at which the records of a journal that count were
// written.
func (w *world) written(p int32) map[events.Position]int64 {
	var filter journal.Filter
	all := map[events.Position]int64{}
	for _, k := range w.c.log(w.c.names.Journal(), p).visible() {
		if h, err := journal.ParseHeaders(k.Headers); err == nil && h.Lawful(&filter) {
			all[h.Position] = w.decided[inJournal{p, k.Offset}]
		}
	}
	return all
}
