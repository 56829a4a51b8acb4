package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// place decides where the definition says what a component needs.
func (d Dice) place(g *Graph, c *Component) {
	if len(c.needs) == 0 || c.reacts != nil { // a reactor's are there already
		return
	}
	c.own = own(false, c.needs)
	switch d.IntN(5) {
	case 0: // something else first
		if c.tasked() {
			c.own = own(true, d.loose(c))
			g.rules = append(g.rules, d.rule(c, false, c.needs))
		}
	case 1:
		c.own = nil
		g.rules = append(g.rules, d.rule(c, false, c.needs))
	case 2: // half of it here, half of it there
		here, there := fields{}, fields{}
		for _, name := range slices.Sorted(maps.Keys(c.needs)) {
			Pick(d, here, there)[name] = c.needs[name]
		}
		if len(there) > 0 && c.needs["preset"] == nil { // a preset fills what its own rule leaves open
			c.own = own(true, here)
			g.rules = append(g.rules, d.rule(c, true, there))
		}
	default:
		g.rules = append(g.rules, d.harm(c)) // too late
	}
}

// list draws the rules that are given with a run, a resume or an input. alone: no
// other list is asked.
func (d Dice) list(g *Graph, alone bool) Rules {
	if !alone && d.One(2) {
		return nil
	}
	var list Rules
	for _, c := range g.Components {
		switch {
		case len(c.needs) > 0 && (alone || d.One(4)):
			said := c.needs
			if c.tasked() {
				said = said.with(d.loose(c))
			}
			if r := d.rule(c, alone && d.One(2), said); r.inherit { // from nothing
				list = append(list, r)
			} else {
				list = append(list, r, d.harm(c))
			}
		case c.tasked() && d.One(4):
			list = append(list, d.rule(c, true, d.loose(c)))
		}
	}
	return d.among(list)
}

// among adds rules that fit many components, and some that fit none.
func (d Dice) among(list Rules) Rules {
	for range d.IntN(3) {
		list = slices.Insert(list, d.IntN(len(list)+1), d.wide())
	}
	for range d.IntN(3) {
		list = slices.Insert(list, d.IntN(len(list)+1), d.idle())
	}
	return list
}

// rule is one that fits a component and no other.
func (d Dice) rule(c *Component, inherit bool, f fields) rule {
	match := Pick(d,
		map[string]any{"name": c.Name},
		map[string]any{"name": "/^" + c.Name + "$/"},
		map[string]any{"name": "/" + c.Name + "/", "kind": c.kindName()},
		map[string]any{"expr": fmt.Sprintf("name == '%s'", c.Name)},
		map[string]any{"expr": fmt.Sprintf("kind == '%s'", c.kindName()), "name": c.Name},
	)
	if c.kind == folded { // others of its kind have its name in theirs
		match = map[string]any{"name": c.Name}
	}
	return rule{match, func(o *Component) verdict { return fit(o.Name == c.Name) }, inherit, f}
}

// harm is a rule that must not hold any more.
func (d Dice) harm(c *Component) rule {
	if !c.tasked() {
		return d.rule(c, false, fields{"on_failure": "halt"})
	}
	return d.rule(c, false, fields{"on_failure": Pick(d, "halt", "skip"), "max_retries": 0, "timeout_ms": 1, "queue": "nowhere"})
}

// loose are fields that change how soon a step ends well.
func (d Dice) loose(c *Component) fields {
	f := d.delays()
	if most, ok := c.needs["max_retries"].(int); ok && d.One(2) {
		f["max_retries"] = most + d.IntN(3)
	}
	if c.needs["max_lost"] == nil && d.One(3) {
		f["max_lost"] = d.Between(8, 14)
	}
	if c.needs["execution_mode"] == "async" && d.One(2) {
		f["execution_mode"] = "durable"
	}
	if !c.Acts.External && d.One(3) {
		f["queue"] = "orders"
	}
	return f
}

func (d Dice) delays() fields {
	f := fields{"backoff": Pick(d, "none", "linear", "exponential", "jitter")}
	if d.One(2) {
		f["base_delay_ms"] = d.Between(0, 900)
	}
	if d.One(2) {
		f["max_delay_ms"] = d.Between(1, 1500)
	}
	return f
}

// wide is a rule that fits more than one component.
func (d Dice) wide() rule {
	r := Pick(d,
		rule{match: "default", fits: fitsAll},
		rule{match: map[string]any{"kind": []any{"step", "sleep"}}, fits: func(c *Component) verdict {
			return fit(c.kind == step && c.sums == nil || c.kind == sleep && c.waits == forTime)
		}},
		rule{match: map[string]any{"task": "/work$/"}, fits: func(c *Component) verdict { return fit(c.tasked()) }},
		rule{match: map[string]any{"queue": "orders"}, fits: func(c *Component) verdict { return fit(c.tasked() && c.Acts.Queue == "orders") }},
		rule{match: map[string]any{"expr": "task startsWith 'orders.'"}, fits: func(c *Component) verdict { return fit(strings.HasPrefix(c.task(), "orders.")) }},
		rule{match: map[string]any{"expr": "input % 2 == 0"}, fits: func(*Component) verdict { return perhaps }},
	)
	r.inherit, r.fields = true, d.delays()
	return r
}

// idle is a rule that fits nothing.
func (d Dice) idle() rule {
	match := Pick(d,
		map[string]any{"task": "nobody.knows"},
		map[string]any{"queue": "elsewhere"},
		map[string]any{"name": "/^z/"},
		map[string]any{"kind": "step", "task": "/^$/"},
		map[string]any{"expr": "false"},
		map[string]any{"expr": "input.nothing.at.all == 1"}, // cannot be evaluated
	)
	return rule{match: match, fits: func(*Component) verdict { return no }, fields: fields{"on_failure": "halt", "max_retries": 0, "timeout_ms": 1}}
}

func fit(does bool) verdict {
	if does {
		return yes
	}
	return no
}
