package events_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// awkward is random with texts that need escapes.
type awkward struct {
	random
	values []json.RawMessage
}

func (a awkward) text(name string) string {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "plain", "\x7f", "<b>&amp;</b>", `"\`, "\x00\b\f\n\r\t\x1f", "\u2028\u2029", "\xff\xc3", "ü€😀", "\u00a0",
	})).Draw(a.t, name)
}

func (a awkward) json(name string) json.RawMessage {
	return rapid.SampledFrom(a.values).Draw(a.t, name)
}

var (
	// compactValues are values as json.Marshal writes them.
	compactValues = []json.RawMessage{nil, {}, json.RawMessage(`null`), json.RawMessage(`{"a":[1,2.50,"x\u003c"]}`)}
	looseValues   = append([]json.RawMessage{
		json.RawMessage(" {\n\t\"a\" : [ 1 , \"<&>\u2028\" ] }\r\n"), json.RawMessage(`"a < b"`),
	}, compactValues...)
)

// drawn is a reply and a summary with any values in their fields. An empty value that
// is not left out is no JSON, for encoding/json either.
func drawn(t *rapid.T, values []json.RawMessage) (r events.Reply, s events.Summary) {
	fill(awkward{random{t}, values}, "reply", reflect.ValueOf(&r).Elem())
	fill(awkward{random{t}, values}, "summary", reflect.ValueOf(&s).Elem())
	r.Summary = nil // not encoding/json's
	return r, s
}

func TestRepliesAndSummariesAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, s := drawn(t, compactValues)
		if got, want := string(events.EncodeReply(&r)), string(marshal(t, &r)); got != want {
			t.Fatalf("a reply is\n%s\nwant\n%s", got, want)
		}
		if got, want := string(events.EncodeSummary(&s)), string(marshal(t, &s)); got != want {
			t.Fatalf("a summary is\n%s\nwant\n%s", got, want)
		}
	})
}

// Values with white space, and with characters that HTML wants escaped, stay as
// they came: the same JSON.
func TestTheValuesOfRepliesStayAsTheyCame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, s := drawn(t, looseValues)
		for want, got := range map[any]json.RawMessage{&r: events.EncodeReply(&r), &s: events.EncodeSummary(&s)} {
			if again, want := string(marshal(t, got)), string(marshal(t, want)); again != want {
				t.Fatalf("%s means\n%s\nwant\n%s", got, again, want)
			}
		}
	})
	r := events.Reply{Body: json.RawMessage(`{ "a": "<" }`)}
	if got, want := string(events.EncodeReply(&r)), `{"id":"","kind":"","body":{ "a": "<" }}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A reply with a summary says what one with it in its body says, and a summary that
// was kept says what it said: its texts are UTF-8, having been in the journal.
func TestTheSummaryOfAReplyIsItsBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s events.Summary
		fill(random{t}, "summary", reflect.ValueOf(&s).Elem())
		s.ID = "w"
		want := string(events.EncodeReply(&events.Reply{Workflow: "w", Body: events.EncodeSummary(&s)}))
		if got := string(events.EncodeReply(&events.Reply{Workflow: "w", Summary: &s})); got != want {
			t.Fatalf("a reply is\n%s\nwant\n%s", got, want)
		}
		var back events.Summary
		if err := wire.Unmarshal(wire.Marshal(&s), &back); err != nil {
			t.Fatal(err)
		}
		if got := string(events.EncodeReply(&events.Reply{Workflow: "w", Summary: &back})); got != want {
			t.Fatalf("what was kept is\n%s\nwant\n%s", got, want)
		}
	})
}

func TestADigestIsKeptInHalfItsLength(t *testing.T) {
	for _, digest := range []string{"sha256:" + strings.Repeat("9b1f6a2f", 8), "sha256:9B", "sha256:9", "sha256:", "sha1:00", ""} {
		d := events.DefinitionRef{Name: "n", Version: "v", Digest: digest}
		b := wire.Marshal(&d)
		var back events.DefinitionRef
		if err := wire.Unmarshal(b, &back); err != nil || back != d {
			t.Errorf("%q came back as %+v, %v", digest, back, err)
		}
		if len(digest) == 71 && len(b) > 40 {
			t.Errorf("%q takes %d bytes", digest, len(b))
		}
	}
}

func TestAppendingKeepsWhatStandsBefore(t *testing.T) {
	r := events.Reply{ID: "1"}
	before := []byte("before ")
	for _, got := range []string{string(r.AppendJSON(before)), string(events.AppendText(before, "<"))} {
		if got[:7] != "before " || !json.Valid([]byte(got[7:])) {
			t.Errorf("got %s", got)
		}
	}
}

func TestDetailsThatAreNoJSONAreADefect(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("they were written")
		}
	}()
	s := events.Summary{Failure: &events.Failure{Error: events.TaskError{Details: json.RawMessage(`{`)}}}
	events.EncodeSummary(&s)
}

// What is on the status topic is read by other systems.
func TestASummaryAsItIsOnTheTopic(t *testing.T) {
	s, _ := drainedReply()
	const plain = `{"id":"wf-bench-000000042","run":"3.48211","status":"idle",` +
		`"definition":{"name":"chain10","version":"1","digest":"sha256:9b1f6a2f0c1f4bd2a1c3c9b1f6a2f0c1f4bd2a1c3c9b1f6a2f0c1f4bd2a1c3c9b"},` +
		`"partition":0,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.123Z",` +
		`"counts":{"ready":0,"waiting":0,"active":0,"completed":10,"failed":0,"skipped":0,"suppressed":0,"cancelled":0},` +
		`"failure":null,"position":"3.48222"}`
	if got := string(events.EncodeSummary(&s)); got != plain {
		t.Errorf("got  %s\nwant %s", got, plain)
	}
	failure := events.Failure{Component: "a", Runnable: "r7", Error: events.TaskError{Type: "<boom>", Message: "no"}}
	s = events.Summary{
		ID: "w", Status: "failed", Counts: events.Counts{Uncertain: 3}, Labels: json.RawMessage(`{"team":"\u003ca\u003e"}`), Partition: 7, Failure: &failure,
		ConditionErrors: &events.ConditionErrors{Count: 1, First: []events.Failure{failure}},
		Refusals:        &events.Refusals{Count: 2, Last: events.LastRefusal{Time: "t", Command: "input", Code: "closed", Message: "m"}},
	}
	const all = `{"id":"w","run":"0.0","status":"failed","definition":{"name":"","version":"","digest":""},` +
		`"labels":{"team":"\u003ca\u003e"},"partition":7,"created_at":"1970-01-01T00:00:00.000Z","updated_at":"1970-01-01T00:00:00.000Z",` +
		`"counts":{"ready":0,"waiting":0,"active":0,"completed":0,"failed":0,"skipped":0,"suppressed":0,"cancelled":0,"uncertain":3},` +
		`"failure":{"component":"a","runnable":"r7","error":{"type":"\u003cboom\u003e","message":"no"}},` +
		`"condition_errors":{"count":1,"first":[{"component":"a","runnable":"r7","error":{"type":"\u003cboom\u003e","message":"no"}}]},` +
		`"refusals":{"count":2,"last":{"time":"t","command":"input","code":"closed","message":"m"}},"position":"0.0"}`
	got := events.EncodeSummary(&s)
	if string(got) != all {
		t.Errorf("got  %s\nwant %s", got, all)
	}
	var back events.Summary
	if err := json.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("it came back as %+v, %v", back, err)
	}
}

func TestATextComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := marshal(t, awkward{random: random{t}}.text("text"))
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if got, err := events.ParseText(raw); err != nil || got != want {
			t.Fatalf("%s is %q, %v; want %q", raw, got, err, want)
		}
	})
	for _, raw := range []string{``, `"`, `"a`, `7`, `"a"b"`} {
		if s, err := events.ParseText(json.RawMessage(raw)); err == nil {
			t.Errorf("%s is %q", raw, s)
		}
	}
}

func marshal(t *rapid.T, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// drainedReply is what ends a chain of ten.
func drainedReply() (events.Summary, []byte) {
	return events.Summary{
		ID: "wf-bench-000000042", Run: events.RunID{Epoch: 3, Seq: 48211}, Status: "idle",
		Definition: events.DefinitionRef{Name: "chain10", Version: "1", Digest: "sha256:9b1f6a2f0c1f4bd2a1c3c9b1f6a2f0c1f4bd2a1c3c9b1f6a2f0c1f4bd2a1c3c9b"},
		Created:    1_767_225_600_000, Updated: 1_767_225_600_123,
		Counts: events.Counts{Completed: 10}, Position: events.Position{Epoch: 3, Seq: 48222},
	}, []byte(`{"s09":5}`)
}

func BenchmarkEncodeSummary(b *testing.B) {
	s, _ := drainedReply()
	b.ReportAllocs()
	for b.Loop() {
		events.EncodeSummary(&s)
	}
}

func BenchmarkEncodeReply(b *testing.B) {
	s, _ := drainedReply()
	r := events.Reply{ID: "QEXAMPLE-1", Kind: events.ReplyDecided, Workflow: s.ID, Command: "start", Result: events.ResultDone, Body: events.EncodeSummary(&s)}
	b.ReportAllocs()
	for b.Loop() {
		events.EncodeReply(&r)
	}
}

// What the same costs encoding/json, to compare with.
func BenchmarkMarshalReply(b *testing.B) {
	s, _ := drainedReply()
	b.ReportAllocs()
	for b.Loop() {
		body, err := json.Marshal(&s)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(&events.Reply{ID: "QEXAMPLE-1", Kind: events.ReplyDecided, Workflow: s.ID, Command: "start", Result: events.ResultDone, Body: body}); err != nil {
			b.Fatal(err)
		}
	}
}
