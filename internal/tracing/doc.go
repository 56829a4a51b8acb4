// Package tracing has what those who make spans share: how a traceparent becomes the parent of one, and
// how one gets an id that follows from what it tells of. Package otlp sends them.
package tracing
