package planner

import (
	"github.com/heddle-run/heddle/shared/events"
)

// setPolicies replaces the rules that were given with the workflow. A runnable keeps the
// policy that it was made with.
func (t *turn) setPolicies(b *events.SetPolicies) {
	if !t.open(true) {
		return
	}
	policies, ok := t.intake.policies(t.graph(), b.Policies)
	if !ok || !t.intake.fits("policies", given{policies: policies}) {
		return
	}
	t.emit(&events.PoliciesSet{Policies: policies, By: b.By})
}

func (w *workflow) policiesSet(e *events.PoliciesSet) {
	w.changeSetup().Policies = e.Policies
}
