package readiness

import (
	"time"

	"github.com/heddle-run/heddle/shared/snapshot"
)

// Snapshot is a partition as it is shown at a time.
func Snapshot(p Published, now time.Time) snapshot.Snapshot {
	reasons := Reasons(p, now)
	s := snapshot.Snapshot{
		SchemaVersion: snapshot.SchemaVersion,
		Readiness:     snapshot.Readiness{Ready: len(reasons) == 0, Reasons: reasons},
	}
	if r := p.Record; r != nil {
		s.Authority, s.Backlog, s.Replay, s.Durability = r.Authority, r.Backlog, r.Replay, r.Durability
	}
	return s
}
