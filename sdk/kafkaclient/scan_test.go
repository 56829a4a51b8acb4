package kafkaclient

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/scan"
)

// testStatus is the status of a chain of ten that came to rest.
func testStatus() events.Status {
	return events.Status{
		ID: "wf-bench-000000042", Run: "3.48211", Status: "idle", Partition: 7, Position: "3.48222",
		Definition: events.DefinitionRef{Name: "chain10", Version: "1", Digest: "sha256:" + strings.Repeat("9b1f6a2f", 8)},
		CreatedAt:  "2026-01-01T00:00:00.000Z", UpdatedAt: "2026-01-01T00:00:00.123Z", Counts: events.Counts{Completed: 10},
	}
}

func sameWorkflow(t *testing.T, status []byte) (scanned bool) {
	t.Helper()
	s := scan.Of(status)
	got := scanWorkflow(&s)
	if !s.Done() {
		return false
	}
	var want *client.Workflow
	if err := json.Unmarshal(status, &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v, %v", status, got, want, err)
	}
	return true
}

func sameResults(t *testing.T, results []byte) (scanned bool) {
	t.Helper()
	s := scan.Of(results)
	got := scanResults(&s)
	if !s.Done() {
		return false
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(results, &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %s, want %s, %v", results, got, want, err)
	}
	return true
}

var testResults = []string{`{}`, `{"s09":5}`, `{"out":{ "a": 1.0 },"none":null}`, `{"a":1,"a":2}`}

func TestTheEndsOfPlannersAreScanned(t *testing.T) {
	for name, change := range map[string]func(*events.Status){
		"plain":    func(*events.Status) {},
		"labelled": func(s *events.Status) { s.Labels = json.RawMessage(`{"team":"x","size":2}`) },
		"failed": func(s *events.Status) {
			s.Failure = &events.Failure{Component: "a", Runnable: "r7", Error: events.TaskError{Message: `no "ключ"`, Details: json.RawMessage(`[1]`)}}
		},
		"refused": func(s *events.Status) {
			s.Refusals = &events.Refusals{Count: 4, Last: events.LastRefusal{Time: "2026-01-01T00:00:00.000Z", Command: "skip", Code: "closed", Message: "<no>"}}
		},
		"doubtful": func(s *events.Status) {
			s.ConditionErrors = &events.ConditionErrors{Count: 4, First: []events.Failure{{Component: "c", Runnable: "r1", Error: events.TaskError{Type: "expression_error"}}}}
		},
	} {
		s := testStatus()
		if change(&s); !sameWorkflow(t, events.EncodeStatus(&s)) {
			t.Errorf("%s: it is strange", name)
		}
	}
	for _, r := range testResults {
		if !sameResults(t, []byte(r)) {
			t.Errorf("%s is strange", r)
		}
	}
}

func FuzzScannedEndIsTheEnd(f *testing.F) {
	s := testStatus()
	f.Add(events.EncodeStatus(&s))
	s.Labels, s.CreatedAt = json.RawMessage(`null`), "yesterday"
	f.Add(events.EncodeStatus(&s))
	for _, r := range testResults {
		f.Add([]byte(r))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sameWorkflow(t, text)
		sameResults(t, text)
	})
}

func BenchmarkEnd(b *testing.B) {
	s := testStatus()
	status, results := events.EncodeStatus(&s), []byte(`{"s09":5}`)
	b.ReportAllocs()
	for b.Loop() {
		w, r := scan.Of(status), scan.Of(results)
		if scanWorkflow(&w); !w.Done() {
			b.Fatal("strange")
		}
		if scanResults(&r); !r.Done() {
			b.Fatal("strange")
		}
	}
}
