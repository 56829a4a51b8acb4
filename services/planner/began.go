package planner

import "github.com/heddle-run/heddle/shared/events"

// left is the work that the last attempt of a runnable has left, where that is not open any more, but was lost or handed back; nil: it
// has left none. What is for another task than the component's own is no part of it.
func (r *runnable) left() *events.Began {
	if r.Attempt == 0 || r.Status == runActive || !r.Status.open() || r.For != events.ForResult || r.Fell != 0 {
		return nil
	}
	if n := len(r.Past); n > 0 && r.Past[n-1].Attempt == r.Attempt { // else it was handed back
		if last := r.Past[n-1]; last.Outcome != "lost" || last.For != events.ForResult {
			return nil
		}
	}
	if r.Work != nil {
		return r.Work
	}
	return &events.Began{Attempt: r.Attempt, Decided: r.Decided}
}

// inDoubt reports whether nobody knows what became of an attempt that was lost, as long as a decision or a probe may tell: somebody
// may be at its work.
func (r *runnable) inDoubt() bool {
	return r.Doubt != nil && (r.For == events.ForProbe || r.Status == runUncertain)
}

// probed reports whether the last attempt was that of a probe, and has come to its end.
func (r *runnable) probed() bool {
	n := len(r.Past)
	return n > 0 && r.Past[n-1].Attempt == r.Attempt && r.Past[n-1].For == events.ForProbe
}

// goesOn reports whether somebody may be at a work of the runnable, though it has no open attempt at that.
func (r *runnable) goesOn() bool { return r.left() != nil || r.inDoubt() }

// workOf is the token of the attempt that has begun what the last one goes on with; nil: it has begun that itself.
func (w *workflow) workOf(id events.RunnableID, r *runnable) []byte {
	return w.begunBy(id, r.Work)
}

// begunBy is the token of the attempt that has begun a work; nil where there is none.
func (w *workflow) begunBy(id events.RunnableID, work *events.Began) []byte {
	if work == nil {
		return nil
	}
	return w.token(id, work.Attempt, work.Decided)
}
