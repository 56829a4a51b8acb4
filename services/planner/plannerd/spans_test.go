package plannerd

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/heddle-run/heddle/internal/tracing"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

const begunBy = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// spansOf are the spans that a planner of its own makes of a record.
func spansOf(t *testing.T, rec *events.Record, told ...machine.Told) tracetest.SpanStubs {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept), sdktrace.WithIDGenerator(tracing.IDs{}))
	o := newObserver(slog.New(slog.DiscardHandler), provider.Tracer(tracing.Scope))
	if !o.Detail() {
		t.Error("spans need the details")
	}
	end := o.spans.begin()
	o.Observe(rec, told)
	end()
	return kept.GetSpans()
}

// Another planner that tells of the same record tells of the same span.
func TestASpanHasTheSameIDWhoeverTellsIt(t *testing.T) {
	run := events.RunID{Epoch: 1, Seq: 7}
	rec := &events.Record{Workflow: "w", Time: 5000, Position: events.Position{Epoch: 2, Seq: 9}}
	told := []machine.Told{
		{Event: &events.WorkflowStarted{}, Definition: "d", Run: run, Created: 5000, Trace: begunBy},
		{Event: &events.RunnableFailed{Error: events.TaskError{Type: "boom", Message: "no"}}, Run: run, Created: 1000, Trace: begunBy, Task: "a.b", Runnable: 3, Attempt: 2, Since: 4000},
		{Event: &events.WorkflowIdle{}, Definition: "d", Run: run, Created: 1000, Trace: begunBy},
		{Event: &events.WorkflowCompleted{}, Definition: "d", Run: run, Created: 1000, Trace: begunBy},
	}
	one, two := spansOf(t, rec, told...), spansOf(t, rec, told...)
	if len(one) != 4 || len(two) != 4 {
		t.Fatalf("%d and %d spans, want 4", len(one), len(two))
	}
	seen := map[string]bool{}
	for i, s := range one {
		if s.SpanContext.SpanID() != two[i].SpanContext.SpanID() {
			t.Errorf("%s has the ids %s and %s", s.Name, s.SpanContext.SpanID(), two[i].SpanContext.SpanID())
		}
		if id := s.SpanContext.SpanID().String(); seen[id] {
			t.Errorf("%s has the id of another one", s.Name)
		} else {
			seen[id] = true
		}
	}
	start, attempt := one[0], one[1]
	if start.Parent.SpanID().String() != "b7ad6b7169203331" || attempt.Parent.SpanID() != start.SpanContext.SpanID() {
		t.Errorf("the start is under %s, the attempt under %s", start.Parent.SpanID(), attempt.Parent.SpanID())
	}
	if want, _ := events.ParseTrace(events.AttemptTrace(begunBy, "w", run, 3, 2)); attempt.SpanContext.SpanID() != [8]byte(want.Parent) {
		t.Errorf("the attempt is %s, its task got %x", attempt.SpanContext.SpanID(), want.Parent)
	}
	if attempt.StartTime.UnixMilli() != 4000 || attempt.EndTime.UnixMilli() != 5000 || attempt.Status.Code != codes.Error {
		t.Errorf("the attempt went from %v to %v: %+v", attempt.StartTime, attempt.EndTime, attempt.Status)
	}
}

// What ends late ended before, and is told once.
func TestWhatNobodyAskedForIsNoSpan(t *testing.T) {
	rec := &events.Record{Workflow: "w", Time: 5000}
	for name, told := range map[string]machine.Told{
		"late":        {Event: &events.RunnableCompleted{}, Trace: begunBy, Task: "a.b", Runnable: 3, Attempt: 2, Late: true},
		"not sampled": {Event: &events.WorkflowIdle{}, Trace: begunBy[:len(begunBy)-1] + "0"},
		"no trace":    {Event: &events.WorkflowIdle{}},
		"other trace": {Event: &events.WorkflowIdle{}, Trace: "of our own"},
		"a dispatch":  {Event: &events.RunnableDispatched{}, Trace: begunBy, Runnable: 3, Attempt: 2, Since: 5000},
	} {
		if got := spansOf(t, rec, told); len(got) > 0 {
			t.Errorf("%s: a span %s", name, got[0].Name)
		}
	}
}

func TestWhatIsUncertainIsCounted(t *testing.T) {
	o := newObserver(slog.New(slog.DiscardHandler), nil)
	o.Observe(&events.Record{Workflow: "w", Time: 5000}, []machine.Told{
		{Event: &events.RunnableLost{}, Queue: "q", Runnable: 3, Attempt: 1, Since: 4000, Uncertain: true},
		{Event: &events.RunnableCompleted{}, Queue: "q", Runnable: 3, Attempt: 1, Late: true},
	})
	for name, want := range map[string]float64{"lost": 1, "uncertain": 1, "completed": 1} {
		if got := collected(t, o.attempts)["q "+name]; got != want {
			t.Errorf("%v attempts %s, want %v", got, name, want)
		}
	}
}

// A tracer that hangs holds up no owner: what there is no room for is left out, and said.
func TestSpansHoldUpNoOwner(t *testing.T) {
	var out bytes.Buffer
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept), sdktrace.WithIDGenerator(tracing.IDs{}))
	o := newObserver(slog.New(slog.NewTextHandler(&out, nil)), provider.Tracer(tracing.Scope))
	rec := &events.Record{Workflow: "w", Time: 5000}
	told := []machine.Told{{Event: &events.RunnableCompleted{}, Trace: begunBy, Task: "a.b", Queue: "q", Runnable: 3, Attempt: 2, Since: 4000}}
	for range mostSpans + 5 { // nobody makes any yet
		o.Observe(rec, told)
	}
	if n := testing.AllocsPerRun(100, func() { o.Observe(rec, told) }); n != 0 {
		t.Errorf("%v allocations of the owner for a span, want none", n)
	}
	o.spans.begin()()
	if got := len(kept.GetSpans()); got != mostSpans {
		t.Errorf("%d spans, want %d", got, mostSpans)
	}
	if !strings.Contains(out.String(), "spans=106") { // of AllocsPerRun one is to warm up
		t.Errorf("the log does not say how many are missing: %s", out.String())
	}
}
