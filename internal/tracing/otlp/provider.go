package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/tracing"
)

// Provider makes the spans of a service. The zero value, and nil, make none.
type Provider struct {
	sdk *sdktrace.TracerProvider
}

// FromEnv is a provider as the environment configures it; nil if it names no collector. The service's
// name is that of OTEL_SERVICE_NAME, if it is set. What cannot be sent is logged.
func FromEnv(ctx context.Context, service string, l *slog.Logger) (*Provider, error) {
	wanted, err := wanted(os.Getenv)
	if !wanted || err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("the exporter of traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attribute.String("service.name", service)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { l.Warn("traces", "error", err) }))
	return &Provider{sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithIDGenerator(tracing.IDs{}),
	)}, nil
}

// wanted reports whether the environment names a collector.
func wanted(env func(string) string) (bool, error) {
	exporter := env("OTEL_TRACES_EXPORTER")
	if exporter == "none" || strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	named, err := endpoint(env)
	if err != nil {
		return false, err
	}
	switch exporter {
	case "":
		if !named {
			return false, nil
		}
	case "otlp":
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: there is otlp and none", exporter)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := env(name); protocol != "" {
			if protocol != "http/protobuf" {
				return false, fmt.Errorf("%s is %q: there is http/protobuf", name, protocol)
			}
			break
		}
	}
	return true, nil
}

// endpoint reports whether the environment says where a collector is. What is no URL would go nowhere, and
// every export say so anew.
func endpoint(env func(string) string) (given bool, err error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		text := env(name)
		if text == "" {
			continue
		}
		if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return false, fmt.Errorf("%s is %q: want a URL, as http://collector:4318", name, text)
		}
		given = true
	}
	return given, nil
}

// Tracer makes spans; nil: there is nobody to tell.
func (p *Provider) Tracer() trace.Tracer {
	if p == nil {
		return nil
	}
	return p.sdk.Tracer(tracing.Scope)
}

// Provider is that of the OpenTelemetry SDK; nil: there is nobody to tell.
func (p *Provider) Provider() trace.TracerProvider {
	if p == nil {
		return nil
	}
	return p.sdk
}

// With runs a service with the tracer that the environment configures; nil: none. It sends what is left
// before it returns.
func With(ctx context.Context, service string, l *slog.Logger, run func(trace.Tracer) error) error {
	p, err := FromEnv(ctx, service, l)
	if err != nil {
		return err
	}
	defer func() {
		if err := p.Close(ctx); err != nil {
			l.Warn("traces", "error", err)
		}
	}()
	return run(p.Tracer())
}

// closing bounds how long a process that ends waits for its last spans to be sent.
const closing = 5 * time.Second

// Close sends what is left, also where ctx is over.
func (p *Provider) Close(ctx context.Context) error {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	if err := p.sdk.Shutdown(ctx); err != nil {
		return fmt.Errorf("sending the last spans: %w", err)
	}
	return nil
}
