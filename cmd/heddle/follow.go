package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
)

// follower hands on the events of a run until nothing more happens by itself.
type follower struct {
	event func(client.Event)
	tick  func(now time.Time) // once a second; may be nil
	stay  bool                // go on at rest, until the run has ended
}

const (
	// sameRecord is how long the events of one record may be apart.
	sameRecord = 200 * time.Millisecond

	// unseen is how long the events up to a workflow's rest may take to arrive.
	// Its last record may be one that has no event to show.
	unseen = time.Second

	// askAgain is the pause where the workflow's state cannot be had.
	askAgain = time.Second
)

// follow returns when the workflow is at rest and its events until then have been
// told, when the run has ended, or when ctx ends. That it is at rest its state
// says: which event comes last does not tell.
func (f *follower) follow(ctx context.Context, run *client.Run) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	feed, failed := feedOf(ctx, run)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var resting <-chan rest
	if !f.stay {
		resting = restOf(ctx, run)
	}
	var at *rest // once it is at rest
	var seen events.Position
	var quiet <-chan time.Time
	for {
		select {
		case e, ok := <-feed:
			if !ok {
				return <-failed
			}
			f.event(e)
			if ends(e.Type) {
				return nil
			}
			if p, err := events.ParsePosition(e.Position); err == nil {
				seen = p
			}
			quiet = at.quiet(seen)
		case r := <-resting:
			if r.err != nil {
				return r.err
			}
			at = &r
			quiet = at.quiet(seen)
		case now := <-tick.C:
			if f.tick != nil {
				f.tick(now)
			}
		case <-quiet:
			return nil
		}
	}
}

// rest is what a workflow rests with: the place of its last record, or why that
// cannot be known.
type rest struct {
	at  events.Position
	err error
}

// quiet tells when nothing more is to be expected by a reader that has seen the events up
// to a place; never, as long as the workflow is not at rest.
func (r *rest) quiet(seen events.Position) <-chan time.Time {
	switch {
	case r == nil:
		return nil
	case seen.Before(r.at):
		return time.After(unseen)
	}
	return time.After(sameRecord)
}

// restOf waits for a run's rest in a goroutine of its own, which ends with ctx. A
// deployment that is away for a while is asked again, as the feed does.
func restOf(ctx context.Context, run *client.Run) <-chan rest {
	out := make(chan rest, 1)
	go func() {
		for {
			w, err := run.Wait(ctx)
			if err == nil {
				at, err := events.ParsePosition(w.Position)
				if err != nil {
					err = fmt.Errorf("the rest of %s: %w", run.ID, err)
				}
				out <- rest{at, err}
				return
			}
			if ctx.Err() != nil {
				return // the feed ends with it, and says so
			}
			if errors.Is(err, client.ErrNotFound) {
				return // it is deleted, which the feed tells
			}
			if !errors.Is(err, client.ErrUnavailable) {
				out <- rest{err: err}
				return
			}
			select {
			case <-time.After(askAgain):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// feedOf reads a run's events in a goroutine of its own, which ends with ctx.
// When the feed is closed, failed says why.
func feedOf(ctx context.Context, run *client.Run) (<-chan client.Event, <-chan error) {
	feed, failed := make(chan client.Event), make(chan error, 1)
	go func() {
		defer close(feed)
		for e, err := range run.Events(ctx) {
			if err != nil {
				failed <- err
				return
			}
			select {
			case feed <- e:
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			}
		}
		failed <- ctx.Err()
	}()
	return feed, failed
}

// ends reports whether no event can follow in this run.
func ends(event string) bool {
	switch event {
	case "WorkflowCompleted", "WorkflowCancelled", "WorkflowDeleting", "WorkflowDeleted":
		return true
	}
	return false
}
