package definition

import (
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/policy"
)

// Reminder runs a part of a signal's component every so often while it waits.
type Reminder struct {
	Every time.Duration
	Max   int
	Do    int // the component
}

const (
	remindFields = "do, every, max"
	// remindPart follows a component's name in the name of the part that reminds.
	remindPart  = "/remind"
	leastRemind = time.Second
	mostReminds = 1000
)

// remind reads the reminder of a signal. Its part is a component of its own, which no edge leads to.
func (r *decoder) remind(p *part, path string, v any) {
	object := r.object(path, v, "write remind: {every: 24h, max: 3, do: {step: task}}")
	if object == nil {
		return
	}
	m := &Reminder{}
	for _, field := range sortedKeys(object) {
		at, v := join(path, field), object[field]
		switch field {
		case "every":
			m.Every = *r.span(at, v, false, leastRemind)
		case "max":
			m.Max = r.count(at, v, mostReminds)
		case "do":
			p.own = &part{path: at}
			p.own.Name, p.own.Join, p.own.Kind = p.Name+remindPart, Part, policy.KindStep
			if r.then(p.own, at, v); p.own.Expr != nil {
				p.own.Kind = policy.KindExpr
			}
		default:
			r.fail(at, "unknown field", policy.Known(field, remindFields))
		}
	}
	for _, field := range []string{"do", "every", "max"} {
		if _, given := object[field]; !given {
			r.fail(path, fmt.Sprintf("has no %s", field), "write remind: {every: 24h, max: 3, do: {step: task}}")
		}
	}
	if p.own != nil {
		p.Signal.Remind = m
	}
}
