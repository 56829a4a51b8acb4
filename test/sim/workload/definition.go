package workload

import (
	"encoding/json"
	"fmt"
)

// Graph is a random workflow definition.
type Graph struct {
	Name       string
	Components []*Component
	Outputs    map[string]string
	options    map[string]any
	rules      Rules
	schema     map[string]any // of the input; nil: none
}

// Given is the number in a context that inputs are shaped with. It changes no
// result, whether it is there or not, but what a task is made of.
const Given = "given"

// Source is the definition as JSON.
func (g *Graph) Source() string {
	components := map[string]any{}
	for _, c := range g.Components {
		if c.inner || c.reacts != nil {
			continue
		}
		components[c.Name] = g.spec(c)
		if c.feeds {
			components[c.over.Name] = g.mapSpec(c)
		}
	}
	d := map[string]any{"name": g.Name, "components": components}
	if len(g.Outputs) > 0 {
		d["outputs"] = g.Outputs
	}
	if len(g.options) > 0 {
		d["options"] = g.options
	}
	if len(g.rules) > 0 {
		d["policies"] = g.rules
	}
	if context := g.contextSpec(); context != nil {
		d["context"] = context
	}
	if g.schema != nil {
		d["input"] = map[string]any{"schema": g.schema}
	}
	b, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (g *Graph) spec(c *Component) map[string]any {
	out := map[string]any{}
	if c.kind == folded {
		c.fold(out)
	} else {
		g.wire(c, out)
	}
	if c.when != nil && !c.ruled {
		out["when"] = c.when.expr(c.weight())
	}
	if len(c.own) > 0 {
		out["policy"] = c.own[0].spec()
	}
	if c.gives {
		out["context"] = map[string]any{Given: 7}
	}
	weight := c.weight()
	switch c.kind {
	case step:
		out["step"] = c.task()
		switch c.shaped {
		case weighted:
			out["input"] = fmt.Sprintf("%s + 0 * (context.%s ?? 0)", weight, Given)
		case plain:
		case added:
			out["params"] = map[string]any{"add": c.given()}
		}
	case pure:
		add := fmt.Sprint(c.add)
		if c.lent() != itsOwn {
			add = "context." + c.lentKey()
		}
		if c.lent() == byRun {
			out["requires"] = []string{c.lentKey()}
		}
		out["expr"] = fmt.Sprintf("(%s * %d + %s) %% %d", weight, c.mul, add, prime)
		if c.breaks > 0 {
			out["expr"] = fmt.Sprintf("(%s * %d + %s + 0 * (1 %% (%s %% %d))) %% %d", weight, c.mul, add, weight, c.breaks, prime)
		}
	case condition:
		out["condition"] = c.guard.expr(weight)
	case folded, mapping: // they have specs of their own
	case sleep:
		g.pause(c, out)
	}
	switch {
	case c.ruled:
		g.rule(c, out)
	case c.sums != nil:
		g.stateSpec(c, out)
	case c.looks != nil:
		c.lookSpec(out)
	}
	return out
}

// rule moves the work of a component behind its condition.
func (g *Graph) rule(c *Component, out map[string]any) {
	then := map[string]any{}
	for _, field := range []string{"step", "expr", "input", "params"} {
		if v, ok := out[field]; ok {
			then[field] = v
			delete(out, field)
		}
	}
	rule := map[string]any{"then": then}
	if c.when != nil {
		rule["when"] = c.when.expr(c.weight())
	}
	if len(c.asks) > 0 {
		var names []string
		for _, i := range c.asks {
			names = append(names, g.Components[i].Name)
		}
		rule[map[bool]string{false: "all_of", true: "any_of"}[c.any]] = names
	}
	out["rule"] = rule
}

// given is the parameter of a step, as it is written.
func (c *Component) given() any {
	if c.computed {
		return map[string]any{"$": fmt.Sprintf("%d - 1 + 1", c.add)}
	}
	return c.add
}

func (g *Graph) wire(c *Component, out map[string]any) {
	arm := func(a arm) string {
		if a.optional {
			return local(g.Components[a.parent].Name) + "?"
		}
		return local(g.Components[a.parent].Name)
	}
	var all []string
	byName := map[string]string{}
	for _, a := range c.arms {
		all = append(all, arm(a))
		byName[a.name] = arm(a)
	}
	switch c.join {
	case root:
	case single:
		out["after"] = all[0]
	case list:
		out["after"] = all
	case named:
		out["in"] = byName
	case anyOf:
		out["after"] = map[string]any{"any": all}
	case otherwise:
		out["else"] = all[0]
	case caught:
		out["catch"] = all[0]
	case race:
		out["after"] = map[string]any{"first": map[string]any{"of": all}}
	}
}
