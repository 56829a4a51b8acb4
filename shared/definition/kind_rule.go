package definition

import (
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

var ruleKind = kind{
	parted: true,
	fields: properties{{"rule", `{
		"type": "object", "additionalProperties": false, "required": ["then"],
		"anyOf": [{"required": ["when"]}, {"required": ["all_of"]}, {"required": ["any_of"]}],
		"properties": {
			"when": {"$ref": "#/$defs/expression", "description": "A condition of its own."},
			"all_of": {"$ref": "#/$defs/conditions", "description": "Named conditions that must all hold."},
			"any_of": {"$ref": "#/$defs/conditions", "description": "Named conditions of which one must hold."},
			"then": {"$ref": "#/$defs/then"}
		},
		"description": "Runs a step or an expression where its conditions hold."
	}`}},
	read:    (*decoder).rule,
	check:   (*builder).checkRule,
	guards:  true,
	shape:   [2]string{"{{", "}}"},
	example: `{rule: {when: input.total > 100, then: {step: orders.review}}}`,
}

const ruleFields = "all_of, any_of, then, when"

func (r *decoder) rule(p *part, _, path string, v any) {
	object := r.object(path, v, "write rule: {when: …, then: {step: task}}")
	if object == nil {
		return
	}
	for _, field := range sortedKeys(object) {
		at := join(path, field)
		switch field {
		case "when":
			p.Guard = r.program(at, object[field], expr.CompileCondition)
		case "all_of", "any_of":
			r.conditions(p, field, at, object[field])
		case "then":
			r.then(p, at, object[field])
		default:
			r.fail(at, "unknown field", policy.Known(field, ruleFields))
		}
	}
	r.wholeRule(path, object)
}

func (r *decoder) wholeRule(path string, object map[string]any) {
	_, when := object["when"]
	_, all := object["all_of"]
	_, some := object["any_of"]
	switch _, then := object["then"]; {
	case !then:
		r.fail(path, "has no then", "write then: {step: task} or {expr: …}")
	case !when && !all && !some:
		r.fail(path, "has no condition", "give it when, all_of or any_of")
	case all && some:
		r.fail(path, "has all_of and any_of", "keep one, and put the other in a rule of its own")
	}
}

// conditions reads the names of conditions that a rule shares with others.
func (r *decoder) conditions(p *part, field, path string, v any) {
	list, _ := v.([]any)
	if len(list) == 0 {
		r.fail(path, "must be a list of conditions", "write "+field+": [NAME]")
	}
	p.AnyOf = field == "any_of"
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		name, ok := item.(string)
		switch {
		case !ok:
			r.fail(at, "must be the name of a condition", "")
		case slices.ContainsFunc(p.conditions, func(a armSpec) bool { return a.parent == name }):
			r.fail(at, fmt.Sprintf("condition %q is given twice", name), "remove one")
		default:
			p.conditions = append(p.conditions, armSpec{path: at, parent: name, optional: true})
		}
	}
}

func (b *builder) checkRule(p *part, input *expr.Type) {
	b.check(p.Guard, input, p.path+".rule.when")
	b.checkThen(p, p.path+".rule.then", input)
}

// connectConditions makes arms of the named conditions of a rule, behind its own: each tells whether it holds for the
// fact that arrives at both.
func (b *builder) connectConditions(p *part) (known bool) {
	known = true
	for _, a := range p.conditions {
		c := b.resolve(p.within, a.parent)
		switch {
		case c == nil:
			known = false
			b.fail(a.path, fmt.Sprintf("unknown component %q", a.parent), b.nearest(p.within, a.parent))
			continue
		case c.Kind != policy.KindCondition && c.Kind != 0:
			b.fail(a.path, fmt.Sprintf("%q is no condition", a.parent), "name a component that has condition")
		case p.Join == Else || p.Join == Any || p.Join == Catch || p.Join == First:
			b.fail(a.path, "a rule with named conditions cannot be fed by "+p.Join.String(), "feed it by the input, a component or a join")
		case !sameFeed(p, b.spec.components[c.Index]):
			b.fail(a.path, fmt.Sprintf("%q is not fed by what feeds this rule", a.parent), "give both the same after or in, or none")
		}
		c.Children = append(c.Children, Edge{Component: p.Index, Arm: len(p.Arms)})
		p.Arms = append(p.Arms, Arm{Component: c.Index, Optional: true})
		p.Conditions++
	}
	return known
}

// sameFeed reports whether what arrives at two components is the same.
func sameFeed(a, b *part) bool {
	same := func(x, y armSpec) bool { return x.parent == y.parent && x.name == y.name && x.optional == y.optional }
	roots := len(a.arms)+len(b.arms) == 0
	return a.within == b.within && (roots || a.Join == b.Join) && slices.EqualFunc(a.arms, b.arms, same)
}
