package definition

import (
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/policy"
)

// wiring reads after, in, else or catch.
func (r *decoder) wiring(p *part, field, path string, v any) {
	if field == "else" || field == "catch" {
		p.Join = Else
		if field == "catch" {
			p.Join = Catch
		}
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
		if first, ok := v["first"].(map[string]any); ok {
			r.first(p, path, v, first)
			return
		}
		r.named(p, path, v)
	default:
		r.fail(path, "must name components", "write a, [a, b], {x: a, y: b?}, {any: [a, b]} or {first: {of: [a, b]}}")
	}
}

func (r *decoder) any(p *part, path string, object map[string]any, list []any) {
	p.Join = Any
	if len(object) > 1 {
		r.fail(path, "any cannot stand with other arms", "join the any in a component of its own")
	}
	r.arms(p, path+".any", list, false)
}

// first reads a race of components.
func (r *decoder) first(p *part, path string, object, first map[string]any) {
	p.Join, p.count = First, 1
	if len(object) > 1 {
		r.fail(path, "first cannot stand with other arms", "join the first in a component of its own")
	}
	path += ".first"
	for _, field := range sortedKeys(first) {
		at := join(path, field)
		switch field {
		case "of":
			list, ok := first[field].([]any)
			if !ok {
				r.fail(at, "must be a list of components", "write of: [a, b]")
				continue
			}
			r.arms(p, at, list, false)
		case "count":
			n, ok := first[field].(int64)
			if !ok || n < 1 {
				r.fail(at, "must be an integer of at least 1", "")
				continue
			}
			p.count, p.countPath = int(min(n, maxConcurrency)), at
		default:
			r.fail(at, "unknown field", policy.Known(field, "count, of"))
		}
	}
	if _, ok := first["of"]; !ok {
		r.fail(path, "has no of", "write first: {of: [a, b]}")
	}
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
			r.fail(at, "must be the name of a component", arrivals[name])
		}
	}
}

// arrivals are the forms that a join with an arm of their name was probably meant to be.
var arrivals = map[string]string{
	"any":   "or write {any: [a, b]}",
	"first": "or write {first: {of: [a, b], count: 1}}",
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

// oneWiring refuses after, in, else and catch side by side.
func (r *decoder) oneWiring(p *part, object map[string]any) bool {
	var found []string
	for _, field := range []string{"after", "catch", "else", "in"} {
		if _, ok := object[field]; ok {
			found = append(found, field)
		}
	}
	if len(found) > 1 {
		r.fail(p.path, "has "+strings.Join(found, " and "), "keep one")
	}
	return len(found) < 2
}
