// Package defect contains what a panic ends: a tenure, a question, a reader, and never
// the process.
package defect

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/partition/loop"
)

// Error is a defect outside of decisions: it ends a tenure or a question, and no
// process.
type Error struct {
	Value string
	Place string // function and line
}

func (e *Error) Error() string { return fmt.Sprintf("a defect at %s: %s", e.Place, e.Value) }

// Caught runs f; a panic becomes a *Error, is counted, and has its stack in the log.
func Caught(logger *slog.Logger, stats *loop.Stats, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			bad := &Error{Value: loop.Shortened(fmt.Sprint(v)), Place: place()}
			logger.Error("a defect ends what it is met in, which begins anew", "panic", v, "place", bad.Place, "stack", string(debug.Stack()))
			stats.Defects.Add(1)
			err = bad
		}
	}()
	return f()
}

// Keep runs what serves all partitions until it returns. A defect that it meets is
// handed to cleanUp, and after a pause it runs again.
func Keep(ctx context.Context, logger *slog.Logger, stats *loop.Stats, run func(context.Context), cleanUp func(error)) {
	for pause := pauseLeast; ; pause = min(2*pause, pauseMost) {
		began := time.Now()
		err := Caught(logger, stats, func() error { run(ctx); return nil })
		if err == nil {
			return
		}
		cleanUp(err)
		if time.Since(began) > 2*pauseMost {
			pause = pauseLeast
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// What meets defects again and again rests so long.
const (
	pauseLeast = 250 * time.Millisecond
	pauseMost  = 5 * time.Second
)

// place is where the panic began that is being recovered.
func place() string {
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
