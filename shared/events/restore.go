package events

import "github.com/heddle-run/heddle/shared/wire"

// RunRestore asks a planner to take a run over that was kept outside Kafka: by its rows, at rest, where nobody has any of
// it in hand. It counts only if there is no such workflow.
type RunRestore struct {
	Run         RunID // that it was
	Definitions []DefinitionPinned
	Rows        []RestoredRow
	Resume      bool // it ran: it goes on
	By          By
}

// RestoredRow is a row of the state, by its key.
type RestoredRow struct {
	Key   []byte
	Value []byte
}

// AttemptToken implements InboxMessage: it is about no attempt.
func (m *RunRestore) AttemptToken() []byte { return nil }

// Fields implements wire.Message.
func (m *RunRestore) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "run", &m.Run)
	wire.Repeated(c, 2, "definitions", &m.Definitions)
	wire.Repeated(c, 3, "rows", &m.Rows)
	c.Bool(4, "resume", &m.Resume)
	wire.Nested(c, 5, "by", &m.By)
}

// Fields implements wire.Message.
func (r *RestoredRow) Fields(c *wire.Codec) {
	c.Bytes(1, "key", &r.Key)
	c.Bytes(2, "value", &r.Value)
}

// WorkflowRestored begins a run with what another one, which was kept outside Kafka, had come to. Its record's position
// is the run's id.
type WorkflowRestored struct {
	Run         RunID // that it was
	Definitions []DefinitionPinned
	Rows        []RestoredRow
	By          By
}

func (*WorkflowRestored) number() int { return 100 }

// Fields implements wire.Message.
func (e *WorkflowRestored) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "run", &e.Run)
	wire.Repeated(c, 2, "definitions", &e.Definitions)
	wire.Repeated(c, 3, "rows", &e.Rows)
	wire.Nested(c, 4, "by", &e.By)
}

func (e *WorkflowRestored) weight() int {
	n := leastEvent + e.By.weight()
	for i := range e.Definitions {
		n += len(e.Definitions[i].Digest) + len(e.Definitions[i].Canonical)
	}
	for i := range e.Rows {
		n += len(e.Rows[i].Key) + len(e.Rows[i].Value)
	}
	return n
}
