package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/spelling"
)

// picking says which runnables a list has.
type picking struct {
	status    string // empty: any
	component uint32 // its index + 1; 0: any
	undone    bool   // only those that are open or have failed
}

// mayBe reports whether it has those of a status.
func (p picking) mayBe(status string) bool { return p.status == "" || p.status == status }

// wants reports whether a runnable that has a row of its own is among them.
func (p picking) wants(r *runnable) bool {
	return p.mayBe(r.Status.String()) && p.isOf(r.Component) && (!p.undone || r.Status.open() || r.Status == runFailed)
}

// isOf reports whether it has those of a component.
func (p picking) isOf(component uint32) bool { return p.component == 0 || p.component == component+1 }

// pick reads what a query wants. It refuses what no runnable is at, and components that
// the workflow has not.
func (vw *view) pick(q *events.Query) (picking, *events.Refusal) {
	p := picking{status: q.Filter}
	if known := runnableStatuses(); p.status != "" && !slices.Contains(known, p.status) {
		return p, &events.Refusal{
			Code: "invalid_field", Path: "status", Message: fmt.Sprintf("%q is none of %s", p.status, strings.Join(known, ", ")),
		}
	}
	if q.Component == "" {
		return p, nil
	}
	if c := vw.graph().Lookup(q.Component); c != nil {
		p.component = uint32(c.Index) + 1
		return p, nil
	}
	return p, &events.Refusal{Code: "invalid_field", Path: "component", Message: vw.noComponent(q.Component)}
}

func runnableStatuses() []string {
	return []string{"ready", "waiting", "active", "completed", "failed", "skipped", "suppressed", "cancelled", "uncertain"}
}

// noComponent says that the workflow has no such component, and which it may be.
func (vw *view) noComponent(name string) string {
	var names []string
	for _, c := range vw.graph().Components {
		if !c.Gone {
			names = append(names, c.Name)
		}
	}
	text := fmt.Sprintf("the workflow has no component %q", name)
	if best := spelling.Nearest(name, names); best != "" {
		text += fmt.Sprintf("; nearest: %q", best)
	}
	return text
}
