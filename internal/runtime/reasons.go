package runtime

import (
	"fmt"
	"time"
)

// Blocked are the reasons, in their fixed order, why a partition with this
// lease and so many pending replay events is not ready at now (Unix ms).
func (l Lease) Blocked(now int64, pending uint64) []string {
	reasons := []string{}
	switch {
	case !l.Held():
		reasons = append(reasons, "authority lease not acquired")
	default:
		if l.Stale {
			reasons = append(reasons, "authority lease is stale: "+l.StaleReason)
		}
		if l.Expired(now) {
			reasons = append(reasons, "authority lease expired: "+FormatTime(time.UnixMilli(l.LeasedUntil)))
		}
	}
	if pending > 0 {
		reasons = append(reasons, fmt.Sprintf("replay has %d pending events", pending))
	}
	return reasons
}
