package tracing

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/shared/events"
)

// named is the key of the id that the next span gets.
type named struct{}

// Named is a context in which the next span has an id that is known before.
func Named(ctx context.Context, id events.SpanID) context.Context {
	return context.WithValue(ctx, named{}, id)
}

// IDs names spans: as they are to be named, else by chance. It is an IDGenerator of the OpenTelemetry SDK.
type IDs struct{}

// NewIDs names a trace and its first span.
func (i IDs) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	rand.Read(id[:]) // never fails
	return id, i.NewSpanID(ctx, id)
}

// NewSpanID names a span.
func (IDs) NewSpanID(ctx context.Context, _ trace.TraceID) (span trace.SpanID) {
	if id, ok := ctx.Value(named{}).(events.SpanID); ok {
		return trace.SpanID(id)
	}
	rand.Read(span[:])
	return span
}
