package store

import (
	"errors"
	"fmt"
)

var (
	// ErrInvalid is what is found in the chain of an error that says which limit a call does not keep to.
	ErrInvalid = errors.New("not a valid call of the store")
	// ErrClosed is what a store says that was closed.
	ErrClosed = errors.New("the store is closed")
)

// Conflict says that a log is not as long as the writer took it to be, or that a
// snapshot would not fit it. Nothing was written.
type Conflict struct {
	ID       string
	Expected uint64 // what the writer said: the position of an append, what a snapshot covers
	Actual   uint64 // the log's entries; for a snapshot that would go back, what the newer one covers
}

func (e *Conflict) Error() string {
	return fmt.Sprintf("conflict in the log %q: position %d was expected, and it is %d", e.ID, e.Expected, e.Actual)
}

// Fenced says that a writer of a higher epoch has the log. Nothing was written, and
// nothing of this epoch ever will be.
type Fenced struct {
	ID      string
	Epoch   uint64 // the writer's
	Current uint64 // the highest that has written
}

func (e *Fenced) Error() string {
	return fmt.Sprintf("fenced in the log %q: epoch %d writes, and %d has written", e.ID, e.Epoch, e.Current)
}
