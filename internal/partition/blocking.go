package partition

import (
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

// alongside runs f beside the loop of a tenure. A defect that it meets ends the tenure.
func (r *tenure) alongside(f func()) {
	r.beside.Go(func() {
		if err := defect.Caught(r.o.logger, r.host.Stats, func() error { f(); return nil }); err != nil {
			r.box.Do(func(p *loop.Processor) { p.Fail(err) })
		}
	})
}

// within runs what a client of the process or a timer calls. A defect that it meets
// ends the tenure that it is for.
func (l *kafkaLog) within(f func()) {
	if err := defect.Caught(l.host.logger, l.host.Stats, func() error { f(); return nil }); err != nil {
		l.box.Do(func(p *loop.Processor) { p.Fail(err) })
	}
}

// blocking says of the end of a tenure whether an operator has to decide, and
// remembers the defect that it met.
func (o *Owner) blocking(err error) *BlockedError {
	blocked := o.blockedBy(err)
	var defect *defect.Error
	o.panicked = ""
	if errors.As(err, &defect) {
		o.panicked = defect.Place
	}
	return blocked
}

// blockedBy is what keeps the next tenure from being any better than one that ended
// in this way; nil: it may be.
func (o *Owner) blockedBy(err error) *BlockedError {
	var blocked *BlockedError
	var unreadable *journal.UnreadableError
	var defect *defect.Error
	var loss *LossError
	switch {
	case errors.As(err, &blocked):
		return blocked
	case errors.As(err, &loss):
		return &BlockedError{loss.Error()}
	case isLater(err):
		return &BlockedError{err.Error()}
	case errors.As(err, &unreadable):
		return &BlockedError{fmt.Sprintf("the journal record at offset %d counts and cannot be decoded: %v; start a planner that knows its format, or restore the journal", unreadable.Offset, unreadable.Err)}
	case errors.As(err, &defect) && o.panicked == defect.Place:
		return &BlockedError{"it ends again and again by " + defect.Error()}
	}
	return nil
}
