package planner

import (
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// migrate lets the run go on with another definition, if all that is open or remembered has its
// place there.
func (t *turn) migrate(b *events.MigrateWorkflow) {
	if !t.open(true) || t.busy() {
		return
	}
	canonical, g := t.intake.resolve(b.Definition)
	if g == nil {
		return
	}
	if g.Digest == t.setup().Digest {
		t.ignore()
		return
	}
	old := t.graph().Numbering()
	more := old.Missing(g)
	g = numbered(canonical, old.With(more))
	newest, defaults, why := t.fitsInto(g)
	if len(why) > 0 {
		t.refuseAt("incompatible", "definition", why.text())
		return
	}
	if !t.intake.fits("definition", given{context: defaults}) {
		return
	}
	if rows.Get[definitionRow](t.tx, definitionKey(g.Digest)) == nil {
		t.emit(&events.DefinitionPinned{Digest: g.Digest, Canonical: canonical})
	}
	t.emit(&events.WorkflowMigrated{
		From: t.setup().Digest, To: g.Digest, Name: g.Name, Version: g.Version, Components: more.Components, Signals: more.Signals,
		Outputs: uint32(len(g.Outputs)), Newest: newest, Context: defaults, By: b.By,
	})
}

// busy refuses what must find a workflow at rest, with nothing in hand.
func (t *turn) busy() bool {
	switch {
	case t.head.Status == Running || t.head.Status == Stopping:
		t.refuse("busy", fmt.Sprintf("the workflow is %s; pause it first, or stop it and wait until it has stopped", t.head.Status))
	case t.head.inHand() > 0:
		t.refuse("busy", "the planner is still at work on what it has decided; ask again")
	default:
		return false
	}
	return true
}

// reasons say why a run cannot go on with a definition.
type reasons []string

func (rs *reasons) add(component, why string) {
	*rs = append(*rs, component+": "+why)
}

// mostReasons are named; of more the number is told.
const mostReasons = 100

func (rs reasons) text() string {
	said := rs[:min(len(rs), mostReasons)]
	text := "the run cannot go on with it: " + strings.Join(said, "; ")
	if more := len(rs) - len(said); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
