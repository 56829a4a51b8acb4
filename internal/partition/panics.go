package partition

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

// PanicError is a defect outside of decisions: it ends a tenure or a question, and no
// process.
type PanicError struct {
	Value string
	Place string // function and line
}

func (e *PanicError) Error() string { return fmt.Sprintf("a defect at %s: %s", e.Place, e.Value) }

// caught runs f; a panic becomes a *PanicError, is counted, and has its stack in the log.
func caught(logger *slog.Logger, stats *loop.Stats, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			bad := &PanicError{Value: loop.Shortened(fmt.Sprint(v)), Place: panicPlace()}
			logger.Error("a defect ends what it is met in, which begins anew", "panic", v, "place", bad.Place, "stack", string(debug.Stack()))
			stats.Defects.Add(1)
			err = bad
		}
	}()
	return f()
}

// keep runs what serves all partitions until it returns. A defect that it meets is
// handed to cleanUp, and after a pause it runs again.
func keep(ctx context.Context, logger *slog.Logger, stats *loop.Stats, run func(context.Context), cleanUp func(error)) {
	for pause := retryPause; ; pause = min(2*pause, keepPauseMost) {
		began := time.Now()
		err := caught(logger, stats, func() error { run(ctx); return nil })
		if err == nil {
			return
		}
		cleanUp(err)
		if time.Since(began) > 2*keepPauseMost {
			pause = retryPause
		}
		sleep(ctx, pause)
	}
}

// keepPauseMost bounds how long what meets defects again and again rests.
const keepPauseMost = 5 * time.Second

// alongside runs f beside the loop of a tenure. A defect that it meets ends the tenure.
func (r *tenure) alongside(f func()) {
	r.beside.Go(func() {
		if err := caught(r.o.logger, r.host.Stats, func() error { f(); return nil }); err != nil {
			r.box.do(func(p *loop.Processor) { p.Fail(err) })
		}
	})
}

// within runs what a client of the process or a timer calls. A defect that it meets
// ends the tenure that it is for.
func (l *kafkaLog) within(f func()) {
	if err := caught(l.host.logger, l.host.Stats, func() error { f(); return nil }); err != nil {
		l.box.do(func(p *loop.Processor) { p.Fail(err) })
	}
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

// blocking says of the end of a tenure whether an operator has to decide, and
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

// blockedBy is what keeps the next tenure from being any better than one that ended
// in this way; nil: it may be.
func (o *Owner) blockedBy(err error) *BlockedError {
	var blocked *BlockedError
	var unreadable *journal.UnreadableError
	var defect *PanicError
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
