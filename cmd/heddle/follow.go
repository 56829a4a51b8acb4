package main

import (
	"context"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// follower hands on the events of a run until nothing more happens by itself.
type follower struct {
	event func(client.Event)
	tick  func(now time.Time) // once a second; may be nil
	stay  bool                // go on at rest, until the run has ended
}

// restWait is how long a run that has come to rest may take to say more: what
// follows at once, as the completion after the last step, is of one record.
const restWait = 200 * time.Millisecond

// follow returns when the run rests, or has ended, or when ctx ends.
func (f *follower) follow(ctx context.Context, run *client.Run) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	feed, failed := feedOf(ctx, run)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var rested <-chan time.Time
	for {
		select {
		case e, ok := <-feed:
			if !ok {
				return <-failed
			}
			f.event(e)
			rested = nil
			if ends(e.Type) {
				return nil
			}
			if rests(e.Type) && !f.stay {
				rested = time.After(restWait)
			}
		case now := <-tick.C:
			if f.tick != nil {
				f.tick(now)
			}
		case <-rested:
			return nil
		}
	}
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

// ends says whether no event can follow in this run.
func ends(event string) bool {
	switch event {
	case "WorkflowCompleted", "WorkflowCancelled", "WorkflowDeleted":
		return true
	}
	return false
}

// rests says whether nothing follows by itself.
func rests(event string) bool {
	switch event {
	case "WorkflowIdle", "WorkflowFailed", "WorkflowStopped":
		return true
	}
	return false
}
