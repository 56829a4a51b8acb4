package definition

import (
	"fmt"
	"strings"
)

// wiring reads after, in or else.
func (r *decoder) wiring(p *part, field, path string, v any) {
	if field == "else" {
		p.Join = Else
		if name, ok := v.(string); ok {
			r.arm(p, path, "", name, false)
			return
		}
		r.fail(path, "must be the name of a component", "")
		return
	}
	switch v := v.(type) {
	case string:
		p.Join = Single
		r.arm(p, path, "", v, false)
	case []any:
		p.Join = List
		r.arms(p, path, v, true)
	case map[string]any:
		if list, ok := v["any"].([]any); ok {
			r.any(p, path, v, list)
			return
		}
		r.named(p, path, v)
	default:
		r.fail(path, "must name components", "write a, [a, b], {x: a, y: b?} or {any: [a, b]}")
	}
}

func (r *decoder) any(p *part, path string, object map[string]any, list []any) {
	p.Join = Any
	if len(object) > 1 {
		r.fail(path, "any cannot stand with other arms", "join the any in a component of its own")
	}
	r.arms(p, path+".any", list, false)
}

func (r *decoder) named(p *part, path string, object map[string]any) {
	p.Join = Named
	if len(object) == 0 {
		r.fail(path, "names no component", "remove it to be fed by the input")
	}
	for _, name := range sortedKeys(object) {
		at := join(path, name)
		parent, ok := object[name].(string)
		switch {
		case ok:
			r.arm(p, at, name, parent, true)
		case later[name]:
			r.fail(at, notSupported, "remove it")
		default:
			r.fail(at, "must be the name of a component", "")
		}
	}
}

func (r *decoder) arms(p *part, path string, list []any, optional bool) {
	if len(list) == 0 {
		r.fail(path, "names no component", "remove it to be fed by the input")
	}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		name, ok := item.(string)
		if !ok {
			r.fail(at, "must be the name of a component", "")
			continue
		}
		r.arm(p, at, "", name, optional)
	}
}

// arm adds one parent; a trailing ? makes it optional where the join allows that.
func (r *decoder) arm(p *part, path, name, parent string, mayBeOptional bool) {
	parent, optional := strings.CutSuffix(parent, "?")
	if optional && !mayBeOptional {
		r.fail(path, "only the arm of a join can be optional", "write "+parent+", or a join such as {x: "+parent+"?}")
	}
	for _, other := range p.arms {
		if other.parent == parent {
			r.fail(path, fmt.Sprintf("parent %q is given twice", parent), "remove one")
			return
		}
	}
	p.arms = append(p.arms, armSpec{path, parent, name, optional})
}

// oneWiring refuses after, in and else side by side.
func (r *decoder) oneWiring(p *part, object map[string]any) bool {
	var found []string
	for _, field := range []string{"after", "else", "in"} {
		if _, ok := object[field]; ok {
			found = append(found, field)
		}
	}
	if len(found) > 1 {
		r.fail(p.path, "has "+strings.Join(found, " and "), "keep one")
	}
	return len(found) < 2
}
