package plannerd

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/services/planner/limits"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

func failed(workflow int, ms int64) (*events.Record, []machine.Told) {
	rec := &events.Record{Workflow: fmt.Sprint("w", workflow), Time: ms}
	e := &events.WorkflowFailed{Error: events.TaskError{Type: "card_declined", Message: "no money"}}
	return rec, []machine.Told{{Event: e, Definition: fmt.Sprint("d", workflow), Created: ms - 2000}}
}

// collected are the values of a vector of counters, by their labels: first the event's
// subject, then its name.
func collected(t *testing.T, c *prometheus.CounterVec) map[string]float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			all[labels["definition"]+labels["queue"]+" "+labels["event"]] = m.GetCounter().GetValue()
		}
	}
	return all
}

// TestEveryEventIsObservedOrQuiet: who adds an event decides what telemetry makes of it.
func TestEveryEventIsObservedOrQuiet(t *testing.T) {
	for _, n := range events.Numbers() {
		e, _ := events.New(n)
		name := events.Name(e)
		line, quiet := byNumber[n], quiet[name] != ""
		switch {
		case line < 0 && !quiet:
			t.Errorf("%s is neither in observations nor in quiet", name)
		case line >= 0 && quiet:
			t.Errorf("%s is in observations and in quiet", name)
		}
		if tells := planner.Tells(e) || limits.Tells(e); tells != (line >= 0) {
			t.Errorf("%s is in observations: %v; a machine tells of it: %v", name, line >= 0, tells)
		}
	}
}

func TestQuietNamesEventsOnly(t *testing.T) {
	for name := range quiet {
		if !slices.Contains(events.Names(), name) {
			t.Errorf("there is no event %s", name)
		}
	}
}

func TestLabelsAreBounded(t *testing.T) {
	o := newObserver(slog.New(slog.DiscardHandler), nil)
	for i := range mostLabels + 50 {
		o.Observe(failed(i, 5000))
	}
	if got := len(collected(t, o.workflows)); got != mostLabels+1 {
		t.Errorf("%d series, want those of %d definitions and of all others", got, mostLabels)
	}
	if got := collected(t, o.workflows)[otherLabel+" failed"]; got != 50 {
		t.Errorf("%v failures of others, want 50", got)
	}
	if got := collected(t, o.workflows)["d7"+" failed"]; got != 1 {
		t.Errorf("%v failures of one, want 1", got)
	}
}

func TestAFloodOfFailuresFillsNoLog(t *testing.T) {
	var out bytes.Buffer
	o := newObserver(slog.New(slog.NewTextHandler(&out, nil)), nil)
	for i := range 1000 {
		o.Observe(failed(i, 5000))
	}
	if got := strings.Count(out.String(), "workflow failed"); got != linesPerSecond {
		t.Fatalf("%d lines, want %d:\n%s", got, linesPerSecond, out.String())
	}
	if !strings.Contains(out.String(), "error=card_declined") || !strings.Contains(out.String(), "took=2s") {
		t.Errorf("a line says neither why nor when: %s", out.String())
	}
	out.Reset()
	o.Observe(failed(1, 6000))
	if !strings.Contains(out.String(), "left_out=990") {
		t.Errorf("the next second does not say how many lines are missing: %s", out.String())
	}
}

func TestWhatGoesWellIsNotLogged(t *testing.T) {
	var out bytes.Buffer
	o := newObserver(slog.New(slog.NewTextHandler(&out, nil)), nil)
	rec := &events.Record{Workflow: "w", Time: 5000}
	o.Observe(rec, []machine.Told{
		{Event: &events.WorkflowStarted{}, Definition: "d", Created: 5000},
		{Event: &events.RunnableDispatched{}, Queue: "q", Attempt: 1, Since: 5000},
		{Event: &events.RunnableCompleted{}, Queue: "q", Attempt: 1, Since: 4000},
		{Event: &events.WorkflowCompleted{}, Definition: "d", Created: 3000},
	})
	if out.Len() > 0 {
		t.Errorf("the log has %s", out.String())
	}
	if o.Detail() {
		t.Error("details are asked for that nobody wants")
	}
	if got := collected(t, o.attempts)["q"+" completed"]; got != 1 {
		t.Errorf("%v completed attempts, want 1", got)
	}
}

func TestObservingAllocatesNothing(t *testing.T) {
	o := newObserver(slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil)), nil)
	rec := &events.Record{Workflow: "w", Time: 5000}
	told := []machine.Told{
		{Event: &events.RunnableCompleted{}, Queue: "q", Attempt: 1, Since: 4000},
		{Event: &events.RunnableDispatched{}, Queue: "q", Attempt: 1, Since: 5000},
	}
	o.Observe(rec, told)
	if n := testing.AllocsPerRun(1000, func() { o.Observe(rec, told) }); n != 0 {
		t.Errorf("%v allocations for a step, want none", n)
	}
}

func TestANoticeThatIsGivenUpIsCountedAndLogged(t *testing.T) {
	var out bytes.Buffer
	o := newObserver(slog.New(slog.NewTextHandler(&out, nil)), nil)
	rec := &events.Record{Workflow: events.NoticesOf("w:1", events.RunID{Epoch: 2, Seq: 3}), Time: 9000, Position: events.Position{Epoch: 2, Seq: 9}}
	failed := &events.RunnableFailed{Runnable: 4, Error: events.TaskError{Type: "http_status", Message: "410 Gone"}}
	o.Observe(rec, []machine.Told{
		{Event: &events.RunnableCompleted{Runnable: 3}, Notice: machine.NoticeDelivered, Queue: "default", Runnable: 3, Since: 8000},
		{Event: failed, Notice: machine.NoticeRetried, Queue: "default", Runnable: 4, Attempt: 1, Since: 8000},
		{Event: failed, Notice: machine.NoticeGivenUp, Queue: "default", Runnable: 4, Attempt: 2, Since: 8000},
	})
	got := out.String()
	if strings.Count(got, "\n") != 1 {
		t.Errorf("want the line of the one that is given up, got %s", got)
	}
	for _, want := range []string{`msg="notice given up"`, "workflow=w:1", "run=2.3", "record=2.9", "drain=4", "attempt=2", "took=1s", "error=http_status", `message="410 Gone"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the line has no %s: %s", want, got)
		}
	}
	if all := collected(t, o.notices.count); len(all) != 3 || all[" delivered"] != 1 || all[" retried"] != 1 || all[" given_up"] != 1 {
		t.Errorf("counted are %v", all)
	}
	if n := len(collected(t, o.attempts)); n != 0 {
		t.Errorf("the calls count as attempts, too: %d", n)
	}
	for range 1000 {
		o.Observe(rec, []machine.Told{{Event: failed, Notice: machine.NoticeGivenUp, Runnable: 4}})
	}
	if n := strings.Count(out.String(), "\n"); n != linesPerSecond {
		t.Errorf("%d lines in a second, want %d", n, linesPerSecond)
	}
}
