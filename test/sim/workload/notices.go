package workload

import (
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
)

// Where the notices of workflows go that are drawn to tell of their drains.
const (
	NoticesTopic = "notices"
	ReceiverURL  = "https://receiver.example/done"
)

// notify draws whom a workflow tells that it has drained.
func (d Dice) notify(w *Workflow) {
	if !d.One(3) {
		return
	}
	tell := Pick(d,
		map[string]any{}, map[string]any{"topic": NoticesTopic}, map[string]any{"url": ReceiverURL}, map[string]any{"url": ReceiverURL},
		map[string]any{"topic": NoticesTopic, "url": ReceiverURL, "args": map[string]any{"n": d.IntN(9)}})
	w.option("on_complete", tell, d.One(3))
}

// tells is whom a workflow tells; nil: nobody.
func (w *Workflow) tells() map[string]any {
	for _, options := range []map[string]any{w.Run, w.Graph.options} {
		if tell, is := options["on_complete"].(map[string]any); is {
			return tell
		}
	}
	return nil
}

// Drain is one time that a workflow came to rest and that somebody is to be told of.
type Drain struct {
	Workflow   string
	Run        events.RunID
	ID         string // of its notices
	At         events.Position
	Status     string
	Topic, URL bool
}

// resting follows what a run is at, to know when it drains.
type resting struct {
	run    events.RunID
	failed bool // and nobody is told yet
	status string
	open   map[events.RunnableID]bool
	hand   uint64
	drains int
}

// Drains finds in a partition's journal when workflows drained of which somebody is to be told,
// by what happens to them, and holds that against the events that say so.
func Drains(p *Plan, records []*events.Record) (all []Drain, err error) {
	runs := map[string]*resting{}
	for _, rec := range records {
		w := p.Workflow(rec.Workflow)
		if w == nil {
			continue
		}
		r, rests, said := runs[rec.Workflow], false, uint64(0)
		for _, e := range rec.Events {
			if _, is := e.(*events.WorkflowStarted); is {
				r = &resting{run: rec.Position, open: map[events.RunnableID]bool{}}
				runs[rec.Workflow] = r
			}
			if d, is := e.(*events.WorkflowDrained); is {
				said = d.Drain
			}
			if _, is := e.(*events.WorkflowDeleted); is { // of what is gone nobody is told
				delete(runs, rec.Workflow)
				r, rests, said = nil, false, 0
			}
			if r != nil {
				rests = r.follow(e) || rests
			}
		}
		if r == nil {
			continue
		}
		if rests = rests || r.failed && len(r.open) == 0 && r.hand == 0; rests && w.tells() != nil {
			r.drains++
			to := w.tells()
			all = append(all, Drain{
				Workflow: rec.Workflow, Run: r.run, ID: fmt.Sprintf("%s/%s/drain-%d", rec.Workflow, r.run, r.drains), At: rec.Position,
				Status: r.status, Topic: to["topic"] != nil, URL: to["url"] != nil,
			})
			r.failed = false
		}
		if want := uint64(r.drains); rests && w.tells() != nil && said != want || !(rests && w.tells() != nil) && said != 0 {
			err = errors.Join(err, complain(rec.Workflow, "record %s of %s says that it drains for the %d. time; it does so: %v, for the %d. time", rec.Position, rec.Workflow, said, rests, want))
		}
	}
	return all, err
}

// follow takes an event, and reports whether the run comes to rest by it, if nothing is behind it.
func (r *resting) follow(e events.Event) (rests bool) {
	switch e := e.(type) {
	case *events.RunnableDispatched:
		if e.Queue != "" { // what is external drains without
			r.open[e.Runnable] = true
		}
	case *events.RunnableCompleted:
		delete(r.open, e.Runnable)
	case *events.OutcomeArrived: // its probe need not answer any more
		delete(r.open, e.Runnable)
	case *events.ProbeAnswered:
		delete(r.open, e.Runnable)
	case *events.RunnableFailed:
		delete(r.open, e.Runnable)
	case *events.RunnableTimedOut:
		delete(r.open, e.Runnable)
	case *events.RunnableLost:
		delete(r.open, e.Runnable)
	case *events.RunnableReturned:
		delete(r.open, e.Runnable)
	case *events.RunnableCancelled:
		delete(r.open, e.Runnable)
	case *events.RunnableSkipped:
		delete(r.open, e.Runnable)
	case *events.WorkInHand:
		r.hand = r.hand + uint64(len(e.Added)) - e.Done
	case *events.WorkflowFailed:
		r.failed, r.status = true, "failed"
	case *events.WorkflowRevived, *events.WorkflowResumed, *events.WorkflowPaused, *events.WorkflowStopping,
		*events.WorkflowCancelling, *events.WorkflowDeleting, *events.WorkflowDeleted:
		r.failed = false
	case *events.WorkflowIdle:
		r.status = "idle"
		return true
	case *events.WorkflowCompleted:
		r.status = "completed"
		return true
	case *events.WorkflowStopped:
		r.status = "stopped"
		return true
	case *events.WorkflowCancelled:
		r.status, r.failed, r.hand = "cancelled", false, 0
		return true
	}
	return false
}

// Deliveries are the entities of a partition's journal that call receivers: those that have something
// left to deliver, in the order of their first records, and those that have given something up.
func Deliveries(records []*events.Record) (left []string, gaveUp map[string]bool) {
	open, gaveUp := map[string]int{}, map[string]bool{}
	for _, rec := range records {
		if !strings.HasPrefix(rec.Workflow, events.NoticePrefix) {
			continue
		}
		for _, e := range rec.Events {
			switch e := e.(type) {
			case *events.NoticeAccepted:
				open[rec.Workflow]++
			case *events.RunnableCompleted:
				open[rec.Workflow]--
			default:
				if gives(e) {
					open[rec.Workflow]--
					gaveUp[rec.Workflow] = true
				}
			}
		}
	}
	for _, rec := range records {
		if open[rec.Workflow] > 0 {
			left = append(left, rec.Workflow)
			open[rec.Workflow] = 0
		}
	}
	return left, gaveUp
}

// gives reports whether an attempt is the last one, and was not done.
func gives(e events.Event) bool {
	switch e := e.(type) {
	case *events.RunnableFailed:
		return e.Action != events.ActionRetry
	case *events.RunnableTimedOut:
		return e.Action != events.ActionRetry
	case *events.RunnableLost:
		return e.Action != events.ActionRetry
	}
	return false
}
