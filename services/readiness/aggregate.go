package readiness

import (
	"fmt"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
)

// Aggregate is the whole deployment at a time: list holds every partition of the
// topics, in order. Reasons and warnings begin with `partition P: `.
func Aggregate(list []Published, now time.Time, l Limits) runtime.Aggregate {
	a := runtime.Aggregate{
		SchemaVersion: runtime.SchemaVersion, Reasons: []string{}, Warnings: []string{},
		Partitions: make([]runtime.Partition, len(list)),
	}
	for p := range list {
		s := Snapshot(list[p], now)
		a.Partitions[p] = runtime.Partition{Partition: int32(p), Snapshot: s}
		if r := list[p].Record; r != nil {
			a.Partitions[p].Checkpoint = r.Checkpoint
		}
		for _, reason := range s.Readiness.Reasons {
			a.Reasons = append(a.Reasons, fmt.Sprintf("partition %d: %s", p, reason))
		}
		for _, warning := range Warnings(list[p], now, l) {
			a.Warnings = append(a.Warnings, fmt.Sprintf("partition %d: %s", p, warning))
		}
	}
	a.Ready = len(list) > 0 && len(a.Reasons) == 0
	return a
}
