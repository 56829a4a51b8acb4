// Package otlp sends spans to an OpenTelemetry collector, if the environment names one: the usual
// OTEL_ variables say where to, how many and how long. Without them there is no exporter, no
// connection and no work.
package otlp
