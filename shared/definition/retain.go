package definition

import (
	"cmp"
	"time"

	"github.com/heddle-run/heddle/shared/policy"
)

// Retain is how long a workflow is kept once it has come to rest, by what it is at. 0 = not given: in the end, for ever.
type Retain struct {
	Completed time.Duration
	Failed    time.Duration
	Cancelled time.Duration
	Idle      time.Duration
}

// Forever keeps a workflow until somebody deletes it.
const Forever time.Duration = -1

// Over lays r over what holds where r does not say.
func (r Retain) Over(base Retain) Retain {
	return Retain{
		Completed: cmp.Or(r.Completed, base.Completed), Failed: cmp.Or(r.Failed, base.Failed),
		Cancelled: cmp.Or(r.Cancelled, base.Cancelled), Idle: cmp.Or(r.Idle, base.Idle),
	}
}

const retainFields = "cancelled, completed, failed, idle"

// retain reads how long workflows are kept.
func (r *decoder) retain(path string, v any) (keep Retain) {
	object := r.object(path, v, "write retain: {completed: 7d, failed: 90d}")
	for _, field := range sortedKeys(object) {
		at, v := join(path, field), object[field]
		switch field {
		case "completed":
			keep.Completed = r.kept(at, v)
		case "failed":
			keep.Failed = r.kept(at, v)
		case "cancelled":
			keep.Cancelled = r.kept(at, v)
		case "idle":
			keep.Idle = r.kept(at, v)
		default:
			r.fail(at, "unknown field", policy.Known(field, retainFields))
		}
	}
	return keep
}

func (r *decoder) kept(path string, v any) time.Duration {
	if v == foreverText {
		return Forever
	}
	return *r.span(path, v, false, time.Millisecond)
}

const foreverText = "forever"
