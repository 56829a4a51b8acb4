package loop

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// answers are first answers of every kind, by what they are.
func answers() map[string]events.Reply {
	decided := events.Reply{Kind: events.ReplyDecided, Workflow: "wf-bench-000000042", Result: events.ResultDone}
	done, refused, ignored, raw := decided, decided, decided, decided
	done.Summary = &events.Summary{
		Run: events.Position{Epoch: 3, Seq: 48211}, Status: "running", Position: events.Position{Epoch: 3, Seq: 48211}, Partition: 7,
		Definition: events.DefinitionRef{Name: "chain10", Version: "1", Digest: "sha256:" + strings.Repeat("9b1f6a2f", 8)},
		Created:    1767225600000, Updated: 1767225600123, Counts: events.Counts{Active: 1}, Labels: json.RawMessage(`{"team":"x"}`),
	}
	refused.Result, refused.Refusal = events.ResultRefused, &events.Refusal{Code: "already_started", Message: "it exists", Path: "id"}
	refused.Summary = &events.Summary{Status: "failed", Failure: &events.Failure{Component: "a", Runnable: "r7", Error: events.TaskError{Message: "<no>"}}}
	ignored.Result = events.ResultNoChange
	raw.Body = json.RawMessage(`{"a":[1]}`)
	return map[string]events.Reply{"done": done, "refused": refused, "no change": ignored, "of another machine": raw, "without body": decided}
}

func TestTheLedgerKeepsTheFirstAnswer(t *testing.T) {
	for name, want := range answers() {
		b := wire.Marshal(&ledgerRow{Digest: 7, Answer: answerOf(want), Time: 8})
		var row ledgerRow
		if err := wire.Unmarshal(b, &row); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := row.reply(want.Workflow)
		if err != nil || !bytes.Equal(encodeReply(got), encodeReply(want)) {
			t.Errorf("%s: %v, answered with\n%s\nwant\n%s", name, err, encodeReply(got), encodeReply(want))
		}
		if most := len(encodeReply(want))/2 + 32; len(b) > most {
			t.Errorf("%s: it takes %d bytes, want at most %d", name, len(b), most)
		}
	}
}

func TestAnEntryWithoutAnswerIsDone(t *testing.T) {
	r, err := (&ledgerRow{Digest: 7, Time: 8}).reply("w")
	if want := (events.Reply{Kind: events.ReplyDecided, Workflow: "w", Result: events.ResultDone}); err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, %v", r, err)
	}
}

// Bytes as they stand in stores and changelogs that older planners wrote, and
// what they must answer. They never change.
func TestOldEntriesAnswerAsTheyDid(t *testing.T) {
	const old = "08f9ffffffffffffffff01" + // digest
		"126b" + // answer
		"7b226964223a22222c226b696e64223a2264656369646564222c22776f726b666c6f77223a2277222c22726573756c74223a22726566" +
		"75736564222c227265667573616c223a7b22636f6465223a2263222c226d657373616765223a226d227d2c22626f6479223a7b7d7d" +
		"18a0d6eab6b733" // time
	const answer = `{"id":"","kind":"decided","workflow":"w","result":"refused","refusal":{"code":"c","message":"m"},"body":{}}`
	b, err := hex.DecodeString(old)
	if err != nil {
		t.Fatal(err)
	}
	var row ledgerRow
	if err := wire.Unmarshal(b, &row); err != nil {
		t.Fatal(err)
	}
	r, err := row.reply("w")
	if err != nil || string(encodeReply(r)) != answer {
		t.Errorf("%v, answered with %s, want %s", err, encodeReply(r), answer)
	}
	if row.Digest != ^uint64(6) || row.Time != 1767225600800 || !bytes.Equal(wire.Marshal(&row), b) {
		t.Errorf("read as %+v", row)
	}
}

// BenchmarkRemember is what the ledger's entry of a start costs, whose sender
// waits for the end alone, and what its row takes.
func BenchmarkRemember(b *testing.B) {
	r := answers()["done"]
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		size = len(wire.Marshal(&ledgerRow{Digest: 7, Answer: answerOf(r), Time: 8}))
	}
	b.ReportMetric(float64(size), "bytes/row")
}
