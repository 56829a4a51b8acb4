package plannerd

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/tracing"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// mostSpans bounds the spans that wait to be made. More come only where spans are made slower than records.
const mostSpans = 4096

// missedEvery is how often at most a line says that spans are missing.
const missedEvery = 10 * time.Second

// spans makes spans of what observers are told, beside the owners: one takes as long as a good part of a step.
type spans struct {
	tracer trace.Tracer
	logger *slog.Logger
	queue  chan spanOf
	missed atomic.Int64 // that the queue had no room for
}

// spanOf is what a span is made of.
type spanOf struct {
	line     int // of observations
	given    events.TraceContext
	workflow string
	at       events.Position
	ms       int64 // Unix ms of the record
	told     machine.Told
}

// newSpans makes spans with a tracer; nil: nobody is told of any.
func newSpans(l *slog.Logger, tracer trace.Tracer) *spans {
	if tracer == nil {
		return nil
	}
	return &spans{tracer: tracer, logger: l, queue: make(chan spanOf, mostSpans)}
}

// note has a span made of an event, if its run was started with a traceparent that wants it:
//
//   - the start of a run, a child of who started it, and the parent of all others;
//   - each end of an attempt, from its dispatch on: its worker's span is a child of it;
//   - each rest and end of a run, from its start on.
//
// It never waits: a span for which there is no room is left out.
func (s *spans) note(line int, rec *events.Record, t *machine.Told) {
	given, ok := events.ParseTrace(t.Trace)
	if !ok || !given.Sampled() || !hasSpan(line, t) {
		return
	}
	select {
	case s.queue <- spanOf{line, given, rec.Workflow, rec.Position, rec.Time, *t}:
	default:
		s.missed.Add(1)
	}
}

// hasSpan reports whether a span ends with an event.
func hasSpan(line int, t *machine.Told) bool {
	if _, starts := t.Event.(*events.WorkflowStarted); starts {
		return true
	}
	ob := &observations[line]
	return ob.ends && !t.Late && (ob.of == ofWorkflow || t.Since > 0)
}

// begin makes spans until end is called, which makes those that wait first. Whoever notes one behind
// that does no harm.
func (s *spans) begin() (end func()) {
	if s == nil {
		return func() {}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.run(stop)
	}()
	return func() {
		close(stop)
		<-ended
	}
}

func (s *spans) run(stop <-chan struct{}) {
	missing := time.NewTicker(missedEvery)
	defer missing.Stop()
	for {
		select {
		case one := <-s.queue:
			s.tell(&one)
		case <-missing.C:
			s.warn()
		case <-stop:
			s.rest()
			return
		}
	}
}

// rest makes the spans that wait.
func (s *spans) rest() {
	defer s.warn()
	for {
		select {
		case one := <-s.queue:
			s.tell(&one)
		default:
			return
		}
	}
}

// warn says how many spans are missing, if any are.
func (s *spans) warn() {
	if n := s.missed.Swap(0); n > 0 {
		s.logger.Warn("spans are left out: there are more than can be made; have fewer runs sampled", "spans", n)
	}
}

// tell makes a span. Its id follows from what it tells of, so that there is one for each whoever tells it.
func (s *spans) tell(o *spanOf) {
	ob, t := &observations[o.line], &o.told
	parent := o.given
	began := events.RunSpan(o.workflow, t.Run)
	attrs := []attribute.KeyValue{
		attribute.String("heddle.workflow", o.workflow), attribute.String("heddle.run", t.Run.String()), attribute.String("heddle.definition", t.Definition),
	}
	if _, starts := t.Event.(*events.WorkflowStarted); starts {
		s.build(o, parent, began, "start "+t.Definition, o.ms, attrs)
		return
	}
	parent.Parent = began
	attrs = append(attrs, attribute.String("heddle.event", ob.name))
	if ob.of == ofWorkflow {
		s.build(o, parent, events.EventSpan(o.workflow, o.at, t.Event), "workflow "+t.Definition, t.Created, attrs)
		return
	}
	attrs = append(attrs, attribute.String("heddle.component", t.Component),
		attribute.String("heddle.task", t.Task), attribute.String("heddle.queue", t.Queue),
		attribute.String("heddle.runnable", t.Runnable.String()), attribute.Int("heddle.attempt", int(t.Attempt)))
	s.build(o, parent, events.AttemptSpan(o.workflow, t.Run, t.Runnable, t.Attempt), "attempt "+t.Task, t.Since, attrs)
}

// build makes a span from a moment (Unix ms) to the record.
func (s *spans) build(o *spanOf, parent events.TraceContext, id events.SpanID, name string, from int64, attrs []attribute.KeyValue) {
	ctx, _ := tracing.Within(context.Background(), parent.String())
	_, span := s.tracer.Start(tracing.Named(ctx, id), name,
		trace.WithTimestamp(time.UnixMilli(from)), trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(attrs...))
	if err := errorOf(o.told.Event); err != nil {
		span.SetAttributes(attribute.String("error.type", err.Type))
		span.SetStatus(codes.Error, events.Cut(err.Message, maxLogged))
	}
	span.End(trace.WithTimestamp(time.UnixMilli(max(from, o.ms))))
}
