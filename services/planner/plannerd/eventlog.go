package plannerd

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// linesPerSecond bounds what the log gets of one type of event at level info and above: of
// a thousand workflows that fail in a second the first ones tell why.
const linesPerSecond = 10

// pace counts the lines of one type of event in a second of the records' time.
type pace struct {
	second atomic.Int64
	lines  atomic.Int64
	left   atomic.Int64 // lines left out since the last one that was written
}

// allows reports whether another line may be written, and how many were left out before it.
func (p *pace) allows(ms int64) (leftOut int64, ok bool) {
	if second := ms / 1000; p.second.Swap(second) != second {
		p.lines.Store(0)
	}
	if p.lines.Add(1) > linesPerSecond {
		p.left.Add(1)
		return 0, false
	}
	return p.left.Swap(0), true
}

// log writes the line of an event.
func (o *observer) log(line int, level slog.Level, rec *events.Record, t *machine.Told) {
	ob := &observations[line]
	var leftOut int64
	if level > slog.LevelDebug {
		var ok bool
		if leftOut, ok = o.pace[line].allows(rec.Time); !ok {
			return
		}
	}
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs, slog.String("workflow", rec.Workflow), slog.String("record", rec.Position.String()))
	if t.Definition != "" {
		attrs = append(attrs, slog.String("definition", t.Definition), slog.String("run", t.Run.String()))
	}
	what := "workflow "
	if ob.of == ofAttempt {
		what = "attempt "
		attrs = attemptAttrs(attrs, t)
		if ob.ends && t.Since > 0 {
			attrs = append(attrs, slog.Duration("took", sinceThen(rec, t.Since)))
		}
	} else if ob.ends && t.Created > 0 {
		attrs = append(attrs, slog.Duration("took", sinceThen(rec, t.Created)))
	}
	attrs = append(attrs, troubleAttrs(t.Event, leftOut)...)
	o.logger.LogAttrs(context.Background(), level, what+wordsOf(ob.name), attrs...)
}

// troubleAttrs are the error that an event comes with, and how many lines were left out before its own.
func troubleAttrs(e events.Event, leftOut int64) (attrs []slog.Attr) {
	if err := errorOf(e); err != nil {
		attrs = append(attrs, slog.String("error", err.Type), slog.String("message", events.Cut(err.Message, maxLogged)))
	}
	if leftOut > 0 {
		attrs = append(attrs, slog.Int64("left_out", leftOut))
	}
	return attrs
}

// maxLogged bounds the bytes of an error's message in a line.
const maxLogged = 512

func attemptAttrs(attrs []slog.Attr, t *machine.Told) []slog.Attr {
	attrs = append(attrs, slog.Uint64("runnable", uint64(t.Runnable)), slog.Uint64("attempt", uint64(t.Attempt)), slog.String("queue", t.Queue))
	if t.Component != "" {
		attrs = append(attrs, slog.String("component", t.Component), slog.String("task", t.Task))
	}
	return attrs
}

// wordsOf is how a line of the log says the name of an event.
func wordsOf(name string) string {
	return strings.ReplaceAll(name, "_", " ")
}

// errorOf is the error that an event comes with; nil: none.
func errorOf(e events.Event) *events.TaskError {
	switch e := e.(type) {
	case *events.WorkflowFailed:
		return &e.Error
	case *events.RunnableFailed:
		return &e.Error
	case *events.RunnableTimedOut:
		return &e.Error
	case *events.RunnableLost:
		return &e.Error
	}
	return nil
}
