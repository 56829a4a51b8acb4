package partition

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/heddle-run/heddle/internal/journal"
)

// PanicError is a defect outside of decisions: it ends a reign, and no process.
type PanicError struct {
	Value string
	Place string // function and line
}

func (e *PanicError) Error() string { return fmt.Sprintf("a defect at %s: %s", e.Place, e.Value) }

// caught runs f; a panic becomes a *PanicError, with its stack in the log.
func caught(logger *slog.Logger, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			bad := &PanicError{Value: cut(fmt.Sprint(v), reasonBytes), Place: panicPlace()}
			logger.Error("a defect ends the ownership of the partition; it is recovered", "panic", v, "place", bad.Place, "stack", string(debug.Stack()))
			err = bad
		}
	}()
	return f()
}

// panicPlace is where the panic began that is being recovered.
func panicPlace() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for panicking := false; ; {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s:%d", f.Function[strings.LastIndex(f.Function, "/")+1:], f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}

// blocking says of the end of a reign whether an operator has to decide, and
// remembers the defect that it met.
func (o *Owner) blocking(err error) *BlockedError {
	blocked := o.blockedBy(err)
	var defect *PanicError
	o.panicked = ""
	if errors.As(err, &defect) {
		o.panicked = defect.Place
	}
	return blocked
}

// blockedBy is what keeps the next reign from being any better than one that ended
// in this way; nil: it may be.
func (o *Owner) blockedBy(err error) *BlockedError {
	var blocked *BlockedError
	var unreadable *journal.UnreadableError
	var defect *PanicError
	switch {
	case errors.As(err, &blocked):
		return blocked
	case errors.As(err, &unreadable):
		return &BlockedError{fmt.Sprintf("the journal record at offset %d counts and cannot be decoded: %v; start a planner that knows its format, or restore the journal", unreadable.Offset, unreadable.Err)}
	case errors.As(err, &defect) && o.panicked == defect.Place:
		return &BlockedError{"it ends again and again by " + defect.Error()}
	}
	return nil
}
