package client_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
)

// A Workflow has each field of a summary, and but for the owner no other.
func TestAWorkflowSaysWhatItsSummarySays(t *testing.T) {
	failure := events.Failure{Component: "a", Runnable: "r7", Error: events.TaskError{Type: "boom", Message: "no", NonRetryable: true, RetryAfterMs: 5, Details: []byte(`{"a":1}`)}}
	raw := events.EncodeSummary(&events.Summary{
		ID: "w", Run: events.RunID{Epoch: 1, Seq: 2}, Status: "failed", Labels: []byte(`{"team":"a"}`), Partition: 7,
		Definition: events.DefinitionRef{Name: "n", Version: "v", Digest: "sha256:00"},
		Created:    1_767_225_600_001, Updated: 1_767_225_600_123, Position: events.Position{Epoch: 1, Seq: 3},
		Counts:  events.Counts{Ready: 1, Waiting: 2, Active: 3, Completed: 4, Failed: 5, Skipped: 6, Suppressed: 7, Cancelled: 8},
		Failure: &failure, ConditionErrors: &events.ConditionErrors{Count: 1, First: []events.Failure{failure}},
		Refusals: &events.Refusals{Count: 2, Last: events.LastRefusal{Time: "2026-01-01T00:00:00.123Z", Command: "input", Code: "closed", Message: "m"}},
		InHand:   true,
		Notice:   &events.NoticeTrouble{Drain: 3, State: "failing", Attempts: 2, Error: failure.Error},
		Signals:  &events.KeptSignals{Count: 1, First: []events.KeptSignal{{Name: "s", Key: "k", ReceivedAt: "2026-01-01T00:00:00.123Z", ExpiresAt: "2026-01-01T00:00:00.124Z"}}},
	})
	var w client.Workflow
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		t.Fatal(err)
	}
	if w.Counts.Active = 0; w.Drained() {
		t.Error("what has something in hand has drained")
	}
	if w.InHand = false; !w.Drained() {
		t.Error("what has failed, and has nothing active or in hand, has not drained")
	}
	w.Counts.Active, w.InHand = 3, true
	again, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := json.Unmarshal(again, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	want["owner"] = nil // the gateway adds it
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it says\n%v\nwant\n%v", got, want)
	}
}
