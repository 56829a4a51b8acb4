package worker

import (
	"encoding/json"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/tracing"
	"github.com/heddle-run/heddle/shared/events"
)

// traced runs the handler in a span, if somebody is told of spans and the attempt belongs to a trace.
// What the task calls is a child of that span.
func (t *Worker) traced(h Handler, a *Attempt) (json.RawMessage, error) {
	if t.config.Tracer == nil {
		return h.Run(&a.life, a)
	}
	ctx, ok := tracing.Within(&a.life, a.Spec.TraceParent)
	if !ok {
		return h.Run(&a.life, a)
	}
	ctx, span := t.config.Tracer.Start(ctx, a.Spec.Task, trace.WithSpanKind(trace.SpanKindConsumer))
	defer span.End()
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("heddle.workflow", a.Workflow), attribute.String("heddle.component", a.Spec.Component),
			attribute.String("heddle.task", a.Spec.Task), attribute.String("heddle.queue", a.Queue),
			attribute.Int("heddle.attempt", int(a.Spec.Attempt)), attribute.String("heddle.executor", t.config.Name),
		)
		a.Spec.TraceParent = parentOf(span)
	}
	span.SetStatus(codes.Error, events.ErrorPanic) // unless it returns
	result, err := h.Run(ctx, a)
	switch {
	case err == nil || errors.Is(err, ErrPending):
		span.SetStatus(codes.Ok, "")
	default:
		span.SetStatus(codes.Error, events.Cut(err.Error(), maxStatus))
	}
	return result, err
}

// maxStatus bounds the bytes of an error in a span.
const maxStatus = 512

// parentOf is the traceparent of what a span does.
func parentOf(span trace.Span) string {
	c := span.SpanContext()
	return events.TraceContext{Trace: c.TraceID(), Parent: events.SpanID(c.SpanID()), Flags: byte(c.TraceFlags())}.String()
}
