package plannerd

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/tracing"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// span tells of an event as a span, if its run was started with a traceparent that wants it:
//
//   - the start of a run, a child of who started it, and the parent of all others;
//   - each end of an attempt, from its dispatch on: its worker's span is a child of it;
//   - each rest and end of a run, from its start on.
//
// A span's id follows from what it tells of, so that there is one for each whoever tells it.
func (o *observer) span(line int, rec *events.Record, t *machine.Told) {
	given, ok := events.ParseTrace(t.Trace)
	if !ok || !given.Sampled() {
		return
	}
	ob := &observations[line]
	_, starts := t.Event.(*events.WorkflowStarted)
	began := events.RunSpan(rec.Workflow, t.Run)
	switch {
	case starts:
		o.tellSpan(given, began, "start "+t.Definition, rec.Time, rec, runAttributes(rec, t))
	case !ob.ends || t.Late:
	case ob.of == ofWorkflow:
		given.Parent = began
		attrs := append(runAttributes(rec, t), attribute.String("heddle.event", ob.name))
		o.tellSpan(given, events.EventSpan(rec.Workflow, rec.Position, t.Event), "workflow "+t.Definition, t.Created, rec, attrs, errorOf(t.Event))
	case t.Since > 0:
		given.Parent = began
		attrs := append(runAttributes(rec, t), attribute.String("heddle.event", ob.name), attribute.String("heddle.component", t.Component),
			attribute.String("heddle.task", t.Task), attribute.String("heddle.queue", t.Queue),
			attribute.String("heddle.runnable", t.Runnable.String()), attribute.Int("heddle.attempt", int(t.Attempt)))
		o.tellSpan(given, events.AttemptSpan(rec.Workflow, t.Run, t.Runnable, t.Attempt), "attempt "+t.Task, t.Since, rec, attrs, errorOf(t.Event))
	}
}

func runAttributes(rec *events.Record, t *machine.Told) []attribute.KeyValue {
	return append(make([]attribute.KeyValue, 0, 12), attribute.String("heddle.workflow", rec.Workflow), attribute.String("heddle.run", t.Run.String()),
		attribute.String("heddle.definition", t.Definition))
}

// tellSpan tells of a span from a moment (Unix ms) to a record.
func (o *observer) tellSpan(parent events.TraceContext, id events.SpanID, name string, from int64, rec *events.Record, attrs []attribute.KeyValue, errs ...*events.TaskError) {
	ctx, _ := tracing.Within(context.Background(), parent.String())
	_, span := o.tracer.Start(tracing.Named(ctx, id), name,
		trace.WithTimestamp(time.UnixMilli(from)), trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(attrs...))
	for _, err := range errs {
		if err != nil {
			span.SetAttributes(attribute.String("error.type", err.Type))
			span.SetStatus(codes.Error, events.Cut(err.Message, maxLogged))
		}
	}
	span.End(trace.WithTimestamp(time.UnixMilli(max(from, rec.Time))))
}
