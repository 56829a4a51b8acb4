package readiness

import (
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
)

// Snapshot is a partition as it is shown at a time.
func Snapshot(p Published, now time.Time) runtime.Snapshot {
	reasons := Reasons(p, now)
	s := runtime.Snapshot{
		SchemaVersion: runtime.SchemaVersion,
		Readiness:     runtime.Readiness{Ready: len(reasons) == 0, Reasons: reasons},
	}
	if r := p.Record; r != nil {
		s.Authority, s.Backlog, s.Replay, s.Durability = r.Authority, r.Backlog, r.Replay, r.Durability
	}
	return s
}
