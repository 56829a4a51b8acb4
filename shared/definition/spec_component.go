package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// later are kinds and fields of the workflow model that this version does not have.
var later = map[string]bool{
	"loop": true, "fsm": true,
	"aggregate": true, "saga": true, "process_manager": true, "workflow": true,
	"emit": true, "respond": true,
	"compensate": true, "allow": true, "max": true, "next": true, "state": true,
	"states": true, "events": true, "steps": true, "complete": true, "abort": true, "parent_close": true,
}

// components are those of a definition with those of all bodies, sorted by name.
func (r *decoder) components(v any) []*part {
	r.some("components", r.object("components", v, "write components: {name: {step: task}}"), nil)
	if len(r.parts) > MaxComponents {
		r.fail("components", fmt.Sprintf("more than %d", MaxComponents), "split the workflow")
		return nil
	}
	slices.SortFunc(r.parts, func(a, b *part) int { return strings.Compare(a.Name, b.Name) })
	return r.parts
}

// some reads components of the definition, or those of a body.
func (r *decoder) some(path string, object map[string]any, within *part) {
	for _, name := range sortedKeys(object) {
		if len(r.parts) > MaxComponents {
			return
		}
		p := &part{path: join(path, name), within: within}
		p.Name = name
		if within != nil {
			p.Name = within.Name + "." + name
		}
		if !nameShape.MatchString(name) {
			r.fail(p.path, fmt.Sprintf("%q is no name", shortened(name)), nameRule)
		}
		r.parts = append(r.parts, p)
		fix := "write {step: task}"
		if fieldsOfComponents[name] {
			fix = fmt.Sprintf("%s is a field of a component: give the component a name, and write NAME: {%[1]s: …}", name)
		}
		r.component(p, r.object(p.path, object[name], fix))
		r.parts = append(r.parts, p.reactors...)
		if p.own != nil {
			p.own.within = within
			r.parts = append(r.parts, p.own)
		}
	}
}

func (r *decoder) component(p *part, object map[string]any) {
	if object == nil {
		return
	}
	p.form = formOf(object)
	r.kind(p, object)
	oneWiring := r.oneWiring(p, object)
	for _, field := range sortedKeys(object) {
		path, v := join(p.path, field), object[field]
		switch field {
		case "when":
			p.When = r.program(path, v, expr.CompileCondition)
		case "policy":
			r.ownPolicy(p, path, v)
		case "context":
			r.context(p, path, v)
		case "requires":
			p.Requires = r.keys(path, v)
		case "after", "in", "else", "catch":
			if kinds[p.Kind].fed {
				r.fail(path, "a "+p.Kind.String()+" names itself what feeds it", "remove it")
			} else if oneWiring {
				r.wiring(p, field, path, v)
			}
		default:
			if !r.ofKind(p, field, path, v) {
				r.unknown(path, field, componentFields)
			}
		}
	}
	if p.When != nil && p.Guard != nil {
		r.fail(join(p.path, "when"), "a rule has its condition in rule.when", "join the two with and")
	}
	if whole := kinds[p.Kind].whole; whole != nil {
		whole(r, p)
	}
	r.some(join(p.path, "do"), p.body, p)
}

// elsewhere are fields that a component does not have, by where they belong.
var elsewhere = map[string]string{
	"any":   "write after: {any: [a, b]}",
	"edge":  "write it in a reactor: reactors: [{when: …, edge: level, then: …}]",
	"every": "write it in remind: {every: 24h, max: 3, do: …}",
	"first": "write after: {first: {of: [a, b]}}",
	"keep":  "it is an option of the workflow: options: {keep: {facts: 1000}}",
	"then":  "write it in a rule, {when: …, then: …}, or in a reactor",
	"ttl":   "write options: {signal_ttl: 24h}",
}

func (r *decoder) unknown(path, field, known string) {
	switch fix := elsewhere[field]; {
	case fix != "":
		r.fail(path, "a component has no such field", fix)
	case policy.HasField(field):
		r.fail(path, "a component has no such field", ofPolicy(field))
	case later[field]:
		r.fail(path, notSupported, "remove it")
	default:
		r.fail(path, "unknown field", policy.Known(field, known))
	}
}

// ofPolicy says where a field belongs that was written beside policy.
func ofPolicy(field string) string {
	return fmt.Sprintf("it is a field of its policy: write policy: {%s: …}", field)
}

// hasLaterKind reports whether the missing kind is explained by a field that is refused anyway.
func hasLaterKind(object map[string]any) bool {
	for _, field := range sortedKeys(object) {
		if later[field] {
			return true
		}
	}
	return false
}

func (r *decoder) ownPolicy(p *part, path string, v any) {
	rule, err := policy.RuleOf(v, path)
	r.take(err)
	if err != nil {
		return
	}
	p.Rules = []policy.Rule{rule}
}

func (r *decoder) context(p *part, path string, v any) {
	p.context = r.values(path, v, "write context: {factor: 2}")
	if object, ok := v.(map[string]any); ok {
		b, err := expr.Append(nil, object)
		if err != nil { // it is part of a definition that was written whole
			r.fail(path, err.Error(), "")
		}
		p.Context = b
	}
}
