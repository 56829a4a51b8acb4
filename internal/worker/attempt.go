package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// Attempt is one attempt that was taken. Handlers read its fields and change
// nothing.
type Attempt struct {
	Workflow string // workflow ID
	Queue    string
	Spec     events.Task

	key     key
	pool    *pool
	written int64 // Unix ms, of its record, by the planner's clock

	life         life // the context of its handler
	trackerState      // guarded by the tracker

	// Reports of one attempt leave in order: the goroutine that produces one holds it.
	reports  sync.Mutex
	ended    bool   // an outcome was produced, or the attempt was detached
	detached bool   // and nobody here has told of its end since
	guard    *guard // nil: it was neither notified nor has it given details
}

// guard is what reports need to know of an attempt that runs for long.
type guard struct {
	notified bool // a notification was produced
	details  json.RawMessage
	unsent   bool // details were not produced yet
	nextBeat time.Time
	lastBeat time.Time
}

// guarded is the attempt's guard; the caller holds a.reports.
func (a *Attempt) guarded() *guard {
	if a.guard == nil {
		a.guard = &guard{}
	}
	return a.guard
}

// notified reports whether a notification was produced; the caller holds a.reports.
func (a *Attempt) notified() bool { return a.guard != nil && a.guard.notified }

// trackerState is what the tracker knows of an attempt.
type trackerState struct {
	places   []place   // of its records in their logs; usually one
	place    [1]place  // room for that one
	started  time.Time // zero: it waits for a slot
	handed   bool      // back: no slot will begin it
	released bool      // its places are done: an outcome or notification is acknowledged
	cause    error     // why it is to stop; nil: it is not
}

// key is what the tracker knows a token by: its MAC, which is unique.
type key [16]byte

func keyOf(token []byte) (k key, ok bool) {
	return k, copy(k[:], token) == len(k)
}

// Token is the attempt's token as the one URL-safe string that it is for people
// and programs.
func (a *Attempt) Token() string { return events.TokenText(a.Spec.Token) }

// deadline is when the attempt's context ends by itself: its timeout after its
// start, or when nobody waits for its outcome any more; zero: never.
func (a *Attempt) deadline(started time.Time) time.Time {
	var at time.Time
	if a.Spec.Deadline > 0 {
		at = time.UnixMilli(a.Spec.Deadline)
	}
	if a.Spec.Timeout > 0 {
		end := started.Add(time.Duration(min(a.Spec.Timeout, events.MaxMilliseconds)) * time.Millisecond)
		if at.IsZero() || end.Before(at) {
			at = end
		}
	}
	return at
}

// detailsEvery bounds how often new heartbeat details are sent: often enough that one may be late.
func (a *Attempt) detailsEvery() time.Duration {
	if a.Spec.Silence == 0 {
		return detailsEvery
	}
	return min(detailsEvery, time.Duration(min(a.Spec.Silence, events.MaxMilliseconds))*time.Millisecond/3)
}

var errEnded = errors.New("the attempt has ended")

// Heartbeat keeps details (valid JSON, at most 64 KiB) for the next attempt,
// should this one fail or get lost. They are sent at most once a second (where the policy
// limits the attempt's silence, thrice in that time), the newest ones only, and in any case before
// the attempt's failure. That the worker is alive is reported without it.
func (a *Attempt) Heartbeat(details json.RawMessage) error {
	if len(details) > events.MaxDetails {
		return fmt.Errorf("heartbeat details have %d bytes, the limit is %d", len(details), events.MaxDetails)
	}
	a.reports.Lock()
	defer a.reports.Unlock()
	if a.ended {
		return errEnded
	}
	g := a.guarded()
	g.details, g.unsent = details, true
	return nil
}
