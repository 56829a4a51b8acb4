package sim

import (
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// curse begins the inputs that the machine has a defect for.
const curse = "curse"

// mortal begins the inputs at which the process ends, as one does that is out of
// memory: nothing contains that.
const mortal = "mortal"

// jinxed begins the ids of workflows whose timers the machine has a defect for.
const jinxed = "jinxed-"

// cursedQuery is a kind of query that it has one for, too.
const cursedQuery = "curse"

// cursed is a machine with defects (J6).
type cursed struct {
	machine.Machine
	n *node // whose process it is in
}

// Decide implements machine.Machine.
func (c *cursed) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	if in.Command != nil {
		feed, ok := in.Command.Body.(*events.FeedInput)
		if ok && strings.HasPrefix(string(feed.Input), `"`+curse) {
			panic("a cursed input")
		}
		if ok && strings.HasPrefix(string(feed.Input), `"`+mortal) {
			c.n.abort()
		}
	}
	if in.Timer != nil && strings.HasPrefix(in.Workflow, jinxed) {
		panic("a jinxed timer")
	}
	return c.Machine.Decide(tx, at, now, in)
}

// Query implements machine.Machine.
func (c *cursed) Query(tx *rows.Tx, now int64, q *events.Query) events.Reply {
	if q.Kind == cursedQuery {
		panic("a cursed query")
	}
	return c.Machine.Query(tx, now, q)
}
