package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// PoliciesSet replaces the rules that were given with the workflow. They hold for runnables
// that are made from then on.
type PoliciesSet struct {
	Policies json.RawMessage
	By       By
}

func (*PoliciesSet) number() int { return 86 }

// Fields implements wire.Message.
func (e *PoliciesSet) Fields(c *wire.Codec) {
	c.JSON(1, "policies", &e.Policies)
	wire.Nested(c, 2, "by", &e.By)
}

// RetentionArmed says until when a workflow that has come to rest is kept. It is deleted
// then, unless it has left that state.
type RetentionArmed struct {
	Until int64 // Unix ms
}

func (*RetentionArmed) number() int { return 87 }

// Fields implements wire.Message.
func (e *RetentionArmed) Fields(c *wire.Codec) {
	wire.Int(c, 1, "until", &e.Until)
}

// ArchiveAwaited says that a workflow has been kept for long enough, and is kept all the same until it is archived.
type ArchiveAwaited struct {
	Run RunID // of the workflow's run; zero in records of before it was told
}

func (*ArchiveAwaited) number() int { return 99 }

// Fields implements wire.Message.
func (e *ArchiveAwaited) Fields(c *wire.Codec) { wire.Nested(c, 1, "run", &e.Run) }

// WorkflowArchived says that a workflow at rest is kept outside Kafka: nothing is lost when it is deleted.
type WorkflowArchived struct {
	Through Position // of the last record that is kept
}

func (*WorkflowArchived) number() int { return 81 }

// Fields implements wire.Message.
func (e *WorkflowArchived) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "through", &e.Through)
}

// WorkflowMigrated says that a run goes on with another definition. Numbers of components and
// signals that its rows and events have stay what they are; names that are new get those behind.
type WorkflowMigrated struct {
	From       string // digest
	To         string // likewise, of a pinned definition
	Name       string
	Version    string
	Components []string // that had no number, in the order of theirs
	Signals    []string // likewise, names of signals
	Outputs    uint32   // how many outputs the definition has
	Newest     []NewestFact
	By         By
	Context    json.RawMessage // defaults of the definition that the run's context lacked
}

func (*WorkflowMigrated) number() int { return 88 }

// Fields implements wire.Message.
func (e *WorkflowMigrated) Fields(c *wire.Codec) {
	wire.String(c, 1, "from", &e.From)
	wire.String(c, 2, "to", &e.To)
	wire.String(c, 3, "name", &e.Name)
	wire.String(c, 4, "version", &e.Version)
	c.Strings(5, "components", &e.Components)
	c.Strings(6, "signals", &e.Signals)
	wire.Int(c, 7, "outputs", &e.Outputs)
	wire.Repeated(c, 8, "newest", &e.Newest)
	wire.Nested(c, 9, "by", &e.By)
	c.JSON(10, "context", &e.Context)
}

func (e *WorkflowMigrated) weight() int {
	n := leastEvent + len(e.From) + len(e.To) + len(e.Name) + len(e.Version) + e.By.weight() + leastEvent*len(e.Newest) + len(e.Context)
	for _, names := range [][]string{e.Components, e.Signals} {
		for _, name := range names {
			n += len(name)
		}
	}
	return n
}

// NewestFact is the newest fact of a component that results show.
type NewestFact struct {
	Component uint32
	Fact      FactID
}

// Fields implements wire.Message.
func (f *NewestFact) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &f.Component)
	wire.Int(c, 2, "fact", &f.Fact)
}
