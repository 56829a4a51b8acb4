package loop

import (
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// BrokenLogError is an input log that is not what it was at the place where it
// was read; the next recovery finds out what happened to it.
type BrokenLogError struct {
	Source events.Source
	Err    error
}

func (e *BrokenLogError) Error() string {
	return fmt.Sprintf("reading %s: %v", e.Source, e.Err)
}

func (e *BrokenLogError) Unwrap() error { return e.Err }

// ClockError is a clock that differs from the broker's by more than half the margin
// of the lease: an owner with it must not decide.
type ClockError struct {
	Ahead int64 // ms that the broker's clock is ahead of this machine's, or more; negative: behind
	Input bool  // this is known by the stamp of an input only
}

func (e *ClockError) Error() string {
	if e.Ahead < 0 {
		return fmt.Sprintf("the broker's clock is %s behind this machine's", time.Duration(-e.Ahead)*time.Millisecond)
	}
	return fmt.Sprintf("the broker's clock is %s ahead of this machine's", time.Duration(e.Ahead)*time.Millisecond)
}

var (
	// ErrExpired ends a tenure whose lease was not renewed in time.
	ErrExpired   = errors.New("the lease ran out before it was renewed")
	errDismissed = errors.New("an operator released the lease")
)
