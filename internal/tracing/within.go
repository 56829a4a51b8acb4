package tracing

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/shared/events"
)

// Scope is the name under which spans are made.
const Scope = "github.com/heddle-run/heddle"

// Within is a context whose spans are children of a traceparent's; false: it is none.
func Within(ctx context.Context, parent string) (context.Context, bool) {
	c, ok := events.ParseTrace(parent)
	if !ok {
		return ctx, false
	}
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(c.Trace), SpanID: trace.SpanID(c.Parent), TraceFlags: trace.TraceFlags(c.Flags), Remote: true,
	})), true
}
