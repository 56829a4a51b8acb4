package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

type summary struct {
	ID     string `json:"id"`
	Counts struct {
		Completed uint64 `json:"completed"`
	} `json:"counts"`
}

type results = map[string]json.RawMessage

// told is a call that got these replies.
func told(replies ...string) *Call {
	c := &Call{raw: make(chan []byte, maxReplies), failed: make(chan error, 1)}
	for _, r := range replies {
		c.raw <- []byte(r)
	}
	return c
}

const (
	decidedReply = `{"id":"1","kind":"decided","workflow":"w","command":"start","result":"done","body":{"id":"w","counts":{"completed":0}}}`
	endedReply   = `{"id":"1","kind":"drained","workflow":"w","result":"done","body":{"results":{"out":{ "a": 1.0 },"none":null},"workflow":{"id":"w","counts":{"completed":10}}}}`
)

func TestTheEndIsDecodedBehindTheDecision(t *testing.T) {
	end, err := WaitEnd[*summary, results](t.Context(), told(decidedReply, endedReply), "w")
	if err != nil {
		t.Fatal(err)
	}
	if w := end.Workflow; w == nil || w.ID != "w" || w.Counts.Completed != 10 {
		t.Errorf("the summary is %+v", w)
	}
	if r := end.Results; len(r) != 2 || string(r["out"]) != `{ "a": 1.0 }` || string(r["none"]) != "null" {
		t.Errorf("the results are %s", r)
	}
	raw, err := told(endedReply).Drained(t.Context(), "w")
	if err != nil || string(raw.Workflow) != `{"id":"w","counts":{"completed":10}}` || string(raw.Results) != `{"out":{ "a": 1.0 },"none":null}` {
		t.Errorf("as it came: %+v, %v", raw, err)
	}
}

func TestAnEndThatCannotBeReadSaysWhereAndOfWhom(t *testing.T) {
	for reply, want := range map[string]string{
		`{"id":"1","kind":"drained","body":{"workflow":{"id":"w","counts":{"completed":"ten"}}}}`: "/body/workflow/counts/completed",
		`{"id":"1","kind":"drained","body":{"workflow":{"counts":{"completed":-1}}}}`:             "/body/workflow/counts/completed",
		`{"id":"1","kind":"drained","body":{`:                                                     "decode the end of w: jsontext: unexpected EOF",
		`{"id":"1","kind":"drained"}`:                                                             "the reply that tells the end of w has no body",
	} {
		if _, err := WaitEnd[*summary, results](t.Context(), told(reply), "w"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", reply, err, want)
		}
	}
}

func TestARefusalEndsTheWaitWhateverItsBody(t *testing.T) {
	for _, reply := range []string{
		`{"id":"1","kind":"decided","result":"refused","refusal":{"code":"already_started","message":"m"},"body":{"id":"w","workflow":7}}`,
		`{"id":"1","kind":"drained","result":"done","refusal":{"code":"too_large","message":"m"}}`,
	} {
		var want events.Reply
		if err := json.Unmarshal([]byte(reply), &want); err != nil {
			t.Fatal(err)
		}
		_, err := WaitEnd[*summary, results](t.Context(), told(decidedReply, reply), "w")
		refused, ok := errors.AsType[*RefusedError](err)
		if !ok || refused.Reply.Refusal.Code != want.Refusal.Code || string(refused.Reply.Body) != string(want.Body) {
			t.Errorf("%s: %v", reply, err)
		}
	}
}

func TestALookIsDecodedAsAReplyIs(t *testing.T) {
	end, err := decodeEnd[*summary, results](Drained{Workflow: []byte(`{"id":"w"}`), Results: []byte(`{"out":1}`)}, "w")
	if err != nil || end.Workflow.ID != "w" || string(end.Results["out"]) != "1" {
		t.Errorf("got %+v, %v", end, err)
	}
	if _, err = decodeEnd[*summary, results](Drained{Workflow: []byte(`{"id":7}`), Results: []byte(`{}`)}, "w"); err == nil || !strings.HasPrefix(err.Error(), "decode the end of w: ") {
		t.Errorf("got %v", err)
	}
}

// benchReply tells the end of a chain of ten.
func benchReply() []byte {
	s := events.Summary{
		ID: "wf-bench-000000042", Run: events.RunID{Epoch: 3, Seq: 48211}, Status: "idle",
		Definition: events.DefinitionRef{Name: "chain10", Version: "1", Digest: strings.Repeat("9b1f6a2f", 8)},
		Created:    1_767_225_600_000, Updated: 1_767_225_600_123, Position: events.Position{Epoch: 3, Seq: 48222},
	}
	body := fmt.Appendf(nil, `{"results":{"s09":5},"workflow":%s}`, events.EncodeSummary(&s))
	return events.EncodeReply(&events.Reply{ID: "QEXAMPLE-1", Kind: events.ReplyDrained, Workflow: s.ID, Result: events.ResultDone, Body: body})
}

func BenchmarkDrained(b *testing.B) {
	raw, c := benchReply(), told()
	b.ReportAllocs()
	for b.Loop() {
		c.raw <- raw
		if _, err := endReply[json.RawMessage, json.RawMessage](b.Context(), c, "w"); err != nil {
			b.Fatal(err)
		}
	}
}

// What decoding the same layer by layer costs, to compare with.
func BenchmarkDrainedInLayers(b *testing.B) {
	raw := benchReply()
	b.ReportAllocs()
	for b.Loop() {
		r, err := decode(raw)
		if err != nil {
			b.Fatal(err)
		}
		var d Drained
		if err := json.Unmarshal(r.Body, &d); err != nil {
			b.Fatal(err)
		}
		if _, err := decodeEnd[*events.Summary, results](d, "w"); err != nil {
			b.Fatal(err)
		}
	}
}
