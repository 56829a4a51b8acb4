// Package tracing makes the spans of a worker's program go where the usual OTEL_ variables say:
//
//	OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 OTEL_SERVICE_NAME=shop ./shop
//
// A program that sets up OpenTelemetry by itself needs none of it: any trace.TracerProvider does for
// worker.Options.
package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/tracing/otlp"
)

// FromEnv is a provider for worker.Options as the environment configures it, and what sends the last
// spans and ends it. service is the name of the program, unless OTEL_SERVICE_NAME is set; what
// cannot be sent is logged to l (nil: slog.Default). Where the environment names no collector, provider is nil,
// no connection is made and end does nothing.
func FromEnv(ctx context.Context, service string, l *slog.Logger) (provider trace.TracerProvider, end func(context.Context) error, err error) {
	if l == nil {
		l = slog.Default()
	}
	p, err := otlp.FromEnv(ctx, service, l)
	if err != nil {
		return nil, nil, err
	}
	return p.Provider(), p.Close, nil
}
