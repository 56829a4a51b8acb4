package events_test

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

const someTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestATraceparentIsReadAsTheStandardSays(t *testing.T) {
	for text, want := range map[string]bool{
		someTrace: true,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00":       true,
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more":  true, // a later version
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.more":  false,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more":  false,
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":       false,
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01":       false,
		"00-00000000000000000000000000000000-b7ad6b7169203331-01":       false,
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01":       false,
		"00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01":       false,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-01":        false,
		"a trace of our own, which is passed on as it is and not shown": false,
		"": false,
	} {
		c, ok := events.ParseTrace(text)
		if ok != want {
			t.Errorf("%q: %t", text, ok)
		}
		if ok && text[:2] == "00" && c.String() != text {
			t.Errorf("%q is written as %q", text, c)
		}
	}
	if c, _ := events.ParseTrace(someTrace); !c.Sampled() {
		t.Error("it is sampled")
	}
}

func TestEachAttemptIsAParentOfItsOwn(t *testing.T) {
	run := events.RunID{Epoch: 1, Seq: 7}
	seen := map[events.SpanID]bool{}
	for _, id := range []events.SpanID{
		events.RunSpan("w", run), events.RunSpan("v", run), events.RunSpan("w", events.RunID{Epoch: 1, Seq: 8}),
		events.AttemptSpan("w", run, 1, 1), events.AttemptSpan("w", run, 1, 2), events.AttemptSpan("w", run, 2, 1), events.AttemptSpan("w", run, 1, 12),
		events.EventSpan("w", run, &events.WorkflowIdle{}), events.EventSpan("w", run, &events.WorkflowCompleted{}),
	} {
		if seen[id] {
			t.Errorf("%x names two spans", id)
		}
		seen[id] = true
	}
	given, _ := events.ParseTrace(someTrace)
	got, ok := events.ParseTrace(events.AttemptTrace(someTrace, "w", run, 1, 2))
	if !ok || got.Trace != given.Trace || got.Flags != given.Flags || got.Parent != events.AttemptSpan("w", run, 1, 2) {
		t.Errorf("the task gets %+v", got)
	}
	if got := events.AttemptTrace("of our own", "w", run, 1, 2); got != "of our own" {
		t.Errorf("what is no traceparent becomes %q", got)
	}
}
