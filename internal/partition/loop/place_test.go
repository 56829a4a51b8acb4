package loop

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// anonymous puts a command without an id into the log.
func (m *model) anonymous(workflow, name, body string) *kgo.Record {
	return m.input(events.FromCommands, workflow, body, kafka.Header(events.HeaderType, []byte(events.CommandType(name))))
}

// says adds a record with an event of the partition itself to the journal.
func (m *model) says(e events.Event) {
	at := m.record(len(m.journal) - 1).Position
	rec := &events.Record{Position: events.Position{Epoch: at.Epoch, Seq: at.Seq + 1}, Time: m.now.UnixMilli(), Events: []events.Event{e}}
	m.journal = append(m.journal, journal.Encode(rec, m.p.Names, 0))
}

// A command without an id is the same command wherever its record is read again:
// also under another generation of its log, behind inputs that vanished.
func TestJ3ACommandWithoutAnIDIsDecidedOnceInAllGenerations(t *testing.T) {
	jumps := map[string][]events.Event{
		"the log was cut somewhere":     {&events.InputLogTruncated{Log: events.FromCommands, Generation: 1, Expected: 3, Resume: 2}},
		"it is read again, from behind": {&events.ReplayRequested{Cursor: "commands@0"}, &events.InputLost{Log: events.FromCommands, Generation: 1, To: 2}},
	}
	for name, events := range jumps {
		t.Run(name, func(t *testing.T) { decidedOnce(t, events) })
	}
}

// decidedOnce lets a second owner read again what the first one decided.
func decidedOnce(t *testing.T, jumps []events.Event) {
	live := newModel(t, Settings{})
	live.running("w")
	read := live.anonymous("w", "input", `{"input":2}`)
	live.mustStep()
	live.ack()
	for _, e := range jumps {
		live.says(e)
	}
	next := newModel(t, Settings{})
	next.replay(live, 0)
	l := &next.p.inputs[events.FromCommands]
	if l.Row.Next != read.Offset || l.Row.Generation != 1 {
		t.Fatalf("the position is %+v, want offset %d of generation 1", l.Row, read.Offset)
	}
	l.Next, l.Generation = l.Row.Next, l.Row.Generation
	next.batch.Inputs[events.FromCommands] = append(next.batch.Inputs[events.FromCommands], read)
	next.mustStep()
	if next.ack(); len(next.journal) != 0 {
		t.Fatalf("what is read again is decided again: %s", next.names(0))
	}
	next.offsets[events.FromCommands] = l.Next
	next.anonymous("w", "input", `{"input":2}`)
	next.mustStep()
	if next.ack(); len(next.journal) != 1 {
		t.Errorf("an equal command in another place left %d records, want 1", len(next.journal))
	}
}

// Another record in the place of a lost one is another command.
func TestJ3ACommandInThePlaceOfALostOneIsDecided(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	read := m.anonymous("w", "input", `{"input":2}`)
	m.mustStep()
	m.ack()
	n := len(m.journal)
	l := &m.p.inputs[events.FromCommands]
	l.Next, l.Generation, m.offsets[events.FromCommands] = read.Offset, 1, read.Offset
	m.now = m.now.Add(1e6)
	m.anonymous("w", "input", `{"input":2}`)
	m.mustStep()
	if m.ack(); len(m.journal) != n+1 {
		t.Errorf("it left %d records, want 1", len(m.journal)-n)
	}
}
