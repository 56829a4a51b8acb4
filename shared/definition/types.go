package definition

import (
	"errors"
	"slices"

	"github.com/heddle-run/heddle/shared/expr"
)

// typed checks the expressions again with what is known of their input: the schema of the workflow's input where that
// arrives, and the arms of a join. So a misspelt field is found here and not when the workflow runs.
func (b *builder) typed() {
	var input *expr.Type
	if b.spec.input != nil {
		input = expr.SchemaType(b.spec.input.raw, b.spec.input.raw)
	}
	for _, l := range b.spec.options.Labels {
		b.check(l.Expr, input, "options.labels."+l.Name+"."+dollar)
	}
	b.statesKnown()
	arriving := make([]*expr.Type, len(b.graph.Components))
	yields := make([]*expr.Type, len(b.graph.Components))
	for _, i := range b.order {
		c := b.graph.Components[i]
		arriving[i] = arrivingType(c, input, arriving, yields)
		if kinds[c.Kind].passes {
			yields[i] = arriving[i]
		}
		if of := kinds[c.Kind].yields; of != nil {
			yields[i] = of(b.spec.components[i])
		}
		b.checkPart(b.spec.components[i], arriving[i])
	}
}

// arrivingType is what is known of the value that c receives; nil = nothing.
func arrivingType(c *Component, input *expr.Type, arriving, yields []*expr.Type) *expr.Type {
	switch c.Join {
	case Root:
		if c.Within >= 0 {
			return nil
		}
		return input
	case Fold, Part: // the component that a part is of checks it
		return nil
	case Single:
		if c.Arms[0].Outer {
			return nil
		}
		return yields[c.Arms[0].Component]
	case Else:
		return arriving[c.Arms[0].Component]
	case List:
		return expr.ListType()
	case Named:
		fields := make(map[string]*expr.Type, len(c.Arms))
		for _, arm := range c.Arms[:c.Own()] {
			fields[arm.Name] = nil
			if !arm.Optional && !arm.Outer {
				fields[arm.Name] = yields[arm.Component]
			}
		}
		return expr.ObjectType(fields)
	case Catch:
		return expr.ObjectType(map[string]*expr.Type{"error": failureType(), "value": arriving[c.Arms[0].Component]})
	case First:
		if c.Count > 1 {
			return expr.ListType()
		}
	case Any: // below
	}
	t := yields[c.Arms[0].Component]
	if slices.ContainsFunc(c.Arms, func(a Arm) bool { return a.Outer }) {
		return nil
	}
	for _, arm := range c.Arms[1:c.Own()] {
		if yields[arm.Component] != t {
			return nil
		}
	}
	return t
}

// failureType is the error that a component with catch sees.
func failureType() *expr.Type {
	return expr.ObjectType(map[string]*expr.Type{"type": nil, "message": nil, "retryable": nil, "details": nil})
}

func (b *builder) checkPart(p *part, input *expr.Type) {
	b.catching, b.checked = p.Join == Catch, p
	defer func() { b.catching, b.checked = false, nil }()
	if p.Reactor != nil {
		b.checkReactor(p, input)
		return
	}
	b.check(p.When, input, p.path+".when")
	if check := kinds[p.Kind].check; check != nil {
		check(b, p, input)
	}
}

func (b *builder) checkTree(tree any, input *expr.Type, at *place) {
	switch t := tree.(type) {
	case *expr.Program:
		b.check(t, input, at.member(dollar).String())
	case []any:
		for i := range t {
			b.checkTree(t[i], input, at.item(i))
		}
	case map[string]any:
		for _, k := range sortedKeys(t) {
			b.checkTree(t[k], input, at.member(k))
		}
	}
}

func (b *builder) check(p *expr.Program, input *expr.Type, path string) {
	if p == nil {
		return
	}
	if p.UsesError() && !b.catching {
		b.fail(path, "only a component with catch sees error", "give it catch, or write input.error")
		return
	}
	if !b.seesStates(p, path) {
		return
	}
	known := expr.Known{Input: input, States: b.states}
	if b.state != nil {
		known.State = b.state.Type
	}
	var e *expr.Error
	if err := p.Check(known); errors.As(err, &e) {
		b.fail(path, e.Error(), "")
	}
}
