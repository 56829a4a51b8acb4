package events_test

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// journalRecord is what the middle of a chain journals: one outcome, the next step.
func journalRecord() *events.Record {
	return &events.Record{
		Position: events.Position{Epoch: 3, Seq: 48211},
		Input:    events.InputRef{Source: events.FromInbox, Offset: 90125, LeaderEpoch: 2, Digest: 0x9e3779b9},
		Workflow: "order-000000042",
		Time:     1767225600000,
		Events: []events.Event{
			&events.RunnableCompleted{Runnable: 4, Fact: 5, Value: []byte(`{"total":129.5,"lines":3}`), Executor: "worker-1", Started: 1767225599990, Finished: 1767225599999},
			&events.RunnableReady{Runnable: 5, Component: 4, Scope: 1, Parents: []events.FactID{5}, Depth: 4},
			&events.RunnableDispatched{Runnable: 5, Attempt: 1, Queue: "orders"},
		},
	}
}

func BenchmarkEncodeRecord(b *testing.B) {
	r := journalRecord()
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = wire.Append(buf[:0], r)
	}
}

func BenchmarkDecodeRecord(b *testing.B) {
	bytes := events.EncodeRecord(journalRecord())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := events.DecodeRecord(bytes); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeOutcome(b *testing.B) {
	bytes := events.EncodeInbox(&events.TaskOutcome{Token: make([]byte, 60), Outcome: events.OutcomeCompleted, Result: []byte(`{"total":129.5,"lines":3}`), Started: 1767225599990, Finished: 1767225599999, Executor: "worker-1"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := events.DecodeInbox(bytes); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseCommand(b *testing.B) {
	headers := binary("start", events.HeaderID, "7", events.HeaderSource, "shop")
	value := []byte(`{"definition":"orders","input":{"customer":"c-17","lines":[{"sku":"a","n":2},{"sku":"b","n":1}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := events.ParseCommand([]byte("order-000000042"), headers, value, place); err != nil {
			b.Fatal(err)
		}
	}
}
