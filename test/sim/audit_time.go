package sim

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// auditClocks holds that nobody decided by a clock that was behind the broker's by
// more than the margin: no command is decided so long before its stamp (J2).
func (au *audit) auditClocks(p int32, records []*events.Record) {
	margin := au.settings().Complete().Margin.Milliseconds()
	for _, rec := range records {
		if early := rec.Input.Stamp - rec.Time; early > margin {
			au.failAbout(ofPartition(p), "partition %d, record %s decides %s@%d %d ms before it is stamped (J2)", p, rec.Position, rec.Input.Source, rec.Input.Offset, early)
		}
	}
}

// reports are when the outcomes that an inbox holds have reached it, by any clock
// that owners may have: clocks differ by the margin at most, but where one was
// set off by more.
func (au *audit) reports(p int32) workload.Reports {
	all := workload.Reports{}
	if au.doubtful[p] > 0 || au.c.clocks.strays[p] {
		return all
	}
	margin := au.settings().Complete().Margin.Milliseconds()
	for _, k := range au.c.visible(place{au.c.names.Inbox(), p}) {
		if m, err := events.DecodeInbox(k.Value); err == nil {
			if o, ok := m.(*events.TaskOutcome); ok {
				all.Note(o.Token, k.Timestamp.UnixMilli()+margin)
			}
		}
	}
	return all
}
