package adapter

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/heddle-run/heddle/sdk/executor"
)

// soonest is after what time a new work is asked about first: many are short.
const soonest = 50 * time.Millisecond

// watch asks how the works are doing that are waited for, in one goroutine that lives while there are any.
type watch struct {
	adapter executor.Adapter
	soonest time.Duration // until the first question about a work
	every   time.Duration // between two about one work
	log     *slog.Logger

	mu      sync.Mutex
	open    map[*awaited]struct{}
	asking  bool          // the goroutine lives
	more    chan struct{} // signalled when there is one to be asked about sooner
	trouble string        // why nobody could be asked, as it was told; only the goroutine has it
}

// awaited is a work that is waited for.
type awaited struct {
	ref   executor.Ref
	state chan executor.State // gets its end
	since time.Time
	due   time.Time // of the next question
}

func (w *watch) add(ref executor.Ref) *awaited {
	now := time.Now()
	a := &awaited{ref: ref, state: make(chan executor.State, 1), since: now, due: now.Add(min(w.soonest, w.every))}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open, w.more = map[*awaited]struct{}{}, make(chan struct{}, 1)
	}
	w.open[a] = struct{}{}
	if !w.asking {
		w.asking = true
		go w.run()
		return a
	}
	w.wake()
	return a
}

func (w *watch) remove(a *awaited) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, a)
	if len(w.open) == 0 && w.asking {
		w.wake()
	}
}

func (w *watch) wake() {
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// run asks until nothing is waited for.
func (w *watch) run() {
	for {
		due, next, over := w.due(time.Now())
		if over {
			return
		}
		if len(due) > 0 {
			w.ask(due)
			continue
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
		case <-w.more:
			timer.Stop()
		}
	}
}

// due are the works to be asked about now, at most MaxRefs, or when the next one is.
func (w *watch) due(now time.Time) (due []*awaited, next time.Time, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 {
		w.asking = false
		return nil, next, true
	}
	for a := range w.open {
		switch {
		case !a.due.After(now) && len(due) < executor.MaxRefs:
			a.due = now.Add(w.pause(now, a))
			due = append(due, a)
		case next.IsZero() || a.due.Before(next):
			next = a.due
		}
	}
	return due, next, false
}

// pause is the time to the question after the next one: a third of the age of the work, so that a short one is not
// waited for much longer than it takes.
func (w *watch) pause(now time.Time, a *awaited) time.Duration {
	return min(max(now.Sub(a.since)/3, w.soonest), w.every)
}

func (w *watch) ask(due []*awaited) {
	refs := make([]executor.Ref, len(due))
	for i, a := range due {
		refs[i] = a.ref
	}
	states, err := recovered(context.Background(), w.adapter, refs)
	w.tell(err)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, a := range due {
		if _, waits := w.open[a]; waits && states[i].Phase != executor.PhaseRunning {
			delete(w.open, a)
			a.state <- states[i]
		}
	}
}

// tell tells once why nobody can be asked, and once that it is over.
func (w *watch) tell(err error) {
	switch {
	case err == nil && w.trouble != "":
		w.trouble = ""
		w.log.Info("works are asked about again")
	case err != nil && w.trouble != err.Error():
		w.trouble = err.Error()
		w.log.Warn("how works are doing is not known; it is asked again", "error", err)
	}
}
