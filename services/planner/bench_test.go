package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// chainDefinition is a chain of n steps.
func chainDefinition(n int) string {
	var b strings.Builder
	b.WriteString(`{"name":"chain","components":{"s00":{"step":"bench.id"}`)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, `,"s%02d":{"step":"bench.id","after":"s%02d"}`, i, i-1)
	}
	b.WriteString("}}")
	return b.String()
}

// BenchmarkChainStep is what one step of a chain of 10 costs the planner alone:
// decide, apply, encode the record, make the effects.
func BenchmarkChainStep(b *testing.B) {
	p := New(Config{Key: events.Key("0123456789abcdef"), Definitions: func(string) ([]byte, bool) { return []byte(chainDefinition(10)), true }})
	start := []byte(`{"command":"start","input":5,"definition":"chain"}`)
	var state rows.Memory
	var seq uint64
	tx := rows.Begin(&state)
	step := func(in machine.Input) []machine.Effect {
		seq++
		tx.Reset()
		rec := &events.Record{Position: events.Position{Epoch: 1, Seq: seq}, Workflow: in.Workflow, Time: int64(seq)}
		out := p.Decide(tx, rec.Position, rec.Time, in)
		rec.Events = out.Events
		events.EncodeRecord(rec)
		state.Commit(tx.Writes())
		return out.Effects
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprintf("w%d", i)
		if i%1000 == 0 {
			state = rows.Memory{}
		}
		cmd, err := events.ParseCommand([]byte(id), nil, start, "p")
		if err != nil {
			b.Fatal(err)
		}
		effects := step(machine.Input{Workflow: id, Command: cmd})
		for {
			at := slices.IndexFunc(effects, func(e machine.Effect) bool { return e.Kind == machine.TaskEffect })
			if at < 0 {
				break
			}
			var task events.Task
			if err := wire.Unmarshal(effects[at].Value, &task); err != nil {
				b.Fatal(err)
			}
			out := &events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeCompleted, Result: task.Input, Started: 1, Finished: 2}
			effects = step(machine.Input{Workflow: id, Inbox: out})
		}
		if seq%11 != 0 {
			b.Fatalf("the chain ended at record %d", seq)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/11, "ns/step")
}
