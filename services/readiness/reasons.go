package readiness

import (
	"fmt"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
)

// Published is what is known of a partition: its newest record, or why that
// cannot be read. The zero value is a partition without a record.
type Published struct {
	Record    *runtime.Record
	Malformed string // why the record cannot be read
	Unread    []Unread
}

// Unread is a log whose oldest record that no planner has read, by what is committed,
// is older than half of the time for which the cluster keeps it. It deletes what is older,
// read or not.
type Unread struct {
	Topic     string
	Since     time.Time // when it was written
	Retention time.Duration
}

// blockedBy begins the reason of a partition that an operator has to do something for.
const blockedBy = "blocked: "

// Blocks reports whether a reason is one that lasts until an operator acts.
func Blocks(reason string) bool { return strings.HasPrefix(reason, blockedBy) }

// Reasons are why a partition is not ready, in their fixed order; none when it
// is. Backlog and deferral never block.
func Reasons(p Published, now time.Time) []string {
	reasons := []string{}
	if p.Malformed != "" {
		return append(reasons, "authority lease invalid: "+p.Malformed)
	}
	if p.Record != nil && p.Record.Blocked != nil {
		reasons = append(reasons, blockedBy+*p.Record.Blocked)
	}
	if p.Record == nil || p.Record.Authority.Owner == nil {
		reasons = append(reasons, "authority lease not acquired")
	} else {
		reasons = leaseReasons(reasons, p.Record.Authority, now)
	}
	if p.Record != nil && p.Record.Replay.PendingEvents > 0 {
		reasons = append(reasons, fmt.Sprintf("replay has %d pending events", p.Record.Replay.PendingEvents))
	}
	return reasons
}

// leaseReasons are those of a lease that somebody holds.
func leaseReasons(reasons []string, a runtime.Authority, now time.Time) []string {
	if a.Stale {
		reasons = append(reasons, "authority lease is stale: "+text(a.StaleReason))
	}
	until, why := leasedUntil(a)
	switch {
	case why != "":
		reasons = append(reasons, "authority lease invalid: "+why)
	case !now.Before(until):
		reasons = append(reasons, "authority lease expired: "+*a.LeasedUntil)
	}
	return reasons
}

// leasedUntil is when the lease ends, or why that cannot be said.
func leasedUntil(a runtime.Authority) (time.Time, string) {
	switch {
	case *a.Owner == "":
		return time.Time{}, "the owner is empty"
	case a.LeasedUntil == nil:
		return time.Time{}, "leased_until is missing"
	}
	until, err := time.Parse(time.RFC3339, *a.LeasedUntil)
	if err != nil {
		return time.Time{}, fmt.Sprintf("leased_until %q is no RFC 3339 time", *a.LeasedUntil)
	}
	return until, ""
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Expiry is when the lease of a record ends by the clock, and with it its
// readiness; false when there is nothing to expire.
func Expiry(p Published) (time.Time, bool) {
	if p.Record == nil || p.Record.Authority.Owner == nil {
		return time.Time{}, false
	}
	until, why := leasedUntil(p.Record.Authority)
	return until, why == ""
}
