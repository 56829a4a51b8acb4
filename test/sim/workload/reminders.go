package workload

import (
	"slices"
	"strings"
	"time"
)

// reminder is what reminds of a signal, every so often while it waits: a component of its own,
// which gets what arrived at the signal.
type reminder struct {
	every time.Duration
	most  int
	does  *Component
}

const (
	remindPart = "/remind"
	lasting    = 1000 * time.Hour // the time that a signal has which comes
)

// reminds reports whether a component reminds of a signal.
func (c *Component) reminds() bool { return strings.HasSuffix(c.Name, remindPart) }

// remind gives some of the signals of a workflow a reminder, or a time that is long enough, and
// sends those later. Some are sent by somebody who says so. Those of the elements of a list,
// which may be many, come soon one after the other.
func (d Dice) remind(w *Workflow) {
	late := map[string]bool{}
	for _, c := range slices.Clone(w.Graph.Components) {
		if c.waits != forSignal || c.limit {
			continue
		}
		if c.patience == 0 && d.One(2) {
			c.patience = lasting
		}
		if d.One(2) {
			w.Graph.try(func() { d.reminder(w.Graph, c) })
			late[c.signal()] = true
		}
	}
	for i := range w.More {
		s := &w.More[i]
		if s.What != Signal {
			continue
		}
		s.By = Pick(d, "", "somebody")
		if late[s.Signal] {
			s.After += d.Millis(0, 2500)
		}
		if strings.Contains(s.Signal, "-") {
			s.After /= 4
		}
	}
}

func (d Dice) reminder(g *Graph, of *Component) {
	does := &Component{
		Name: of.Name + remindPart, kind: Pick(d, step, pure), inner: true, home: of.home, shape: number,
		mul: int64(d.Between(1, 9)), add: int64(d.Between(0, 99)),
	}
	does.Acts.Takes = d.Millis(0, 300)
	g.insert(does)
	of.remind = &reminder{every: time.Second + d.Millis(0, 1500), most: d.Between(1, 3), does: does}
}

// spec is what a definition says.
func (r *reminder) spec(g *Graph) map[string]any {
	return map[string]any{"every": r.every.String(), "max": r.most, "do": r.part(g)}
}

// part is what it does.
func (r *reminder) part(g *Graph) map[string]any {
	out := g.spec(r.does)
	for name := range out {
		if name != "step" && name != "expr" && name != "input" {
			delete(out, name)
		}
	}
	return out
}
