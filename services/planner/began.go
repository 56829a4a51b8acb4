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
