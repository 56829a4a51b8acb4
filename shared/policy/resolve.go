package policy

import (
	"fmt"
	"slices"
)

// Resolve finds the policy of a subject: the first rule that matches gives the fields, top to bottom; if it says
// `inherit: true`, the next that matches fills those it leaves open. The rest is DefaultOf the subject's kind. A rule
// whose expression cannot be evaluated for a subject does not match it: rules look at components whose inputs differ. The
// only error is Sync for a step, which Rule.Check refuses beforehand.
func Resolve(rules []Rule, s Subject) (Policy, error) {
	return ResolveOver(DefaultOf(s.Evaluated), rules, s)
}

// ResolveOver is Resolve with other defaults, further lists of rules following the first.
func ResolveOver(defaults Policy, rules []Rule, s Subject, more ...[]Rule) (Policy, error) {
	p, have := defaults, given(0)
	done := fillFrom(&p, &have, rules, s)
	for i := 0; i < len(more) && !done; i++ {
		done = fillFrom(&p, &have, more[i], s)
	}
	if p.Mode == Sync && !s.Evaluated {
		return Policy{}, fmt.Errorf("resolve policy of component %s: sync is not possible for a step", s.Name)
	}
	if s.Evaluated { // such kinds honour nothing else; wider rules may speak of tasks
		honoured := p
		p = defaults
		p.OnFailure = honoured.OnFailure
		if valueFallback(honoured.Fallback) {
			p.Fallback = honoured.Fallback
		}
	}
	return p, nil
}

// fillFrom applies one list. done: a rule without `inherit` has matched.
func fillFrom(p *Policy, have *given, rules []Rule, s Subject) (done bool) {
	for i := range rules {
		r := &rules[i]
		if !r.Fits(s) || !r.holds(s) {
			continue
		}
		*have = r.fields.fill(p, *have)
		if !r.inherit {
			return true
		}
	}
	return false
}

// Ends reports whether one of the rules ends the search for a subject, whatever arrives at it.
func Ends(rules []Rule, s Subject) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.expr == nil && !r.inherit && r.Fits(s) })
}

// Narrow keeps the rules that fit a subject, without the matchers that are then known to hold, so that resolving them
// again compares nothing but expressions.
func Narrow(rules []Rule, s Subject) []Rule {
	var out []Rule
	for i := range rules {
		if !rules[i].Fits(s) {
			continue
		}
		r := rules[i]
		r.name, r.task, r.queue, r.kinds = pattern{}, pattern{}, pattern{}, nil
		out = append(out, r)
		if r.expr == nil && !r.inherit {
			break
		}
	}
	return out
}

// AnyDynamic reports whether any of the rules looks at the input.
func AnyDynamic(rules []Rule) bool {
	for i := range rules {
		if rules[i].Dynamic() {
			return true
		}
	}
	return false
}

// Check refuses a rule that could give a subject what its kind cannot honour: for a kind that the planner evaluates,
// any field but on_failure and a fallback to a value or an expression in a rule that names the component; for a step,
// execution_mode sync in any rule that fits it.
func (r *Rule) Check(s Subject) (problem Error, ok bool) {
	if !r.Fits(s) {
		return Error{}, true
	}
	sync := r.fields.given&mode != 0 && r.fields.values.Mode == Sync
	switch {
	case !s.Evaluated && sync:
		return Error{Path: r.Path + ".execution_mode", Message: fmt.Sprintf("sync is not possible for the step %q", s.Name),
			Fix: "use durable, or match only kinds that the planner evaluates"}, false
	case s.Evaluated && (r.name.exact == s.Name || s.Part != "" && r.name.exact == s.Part) && !r.honoured(sync):
		return Error{Path: r.Path, Message: fmt.Sprintf("component %q is evaluated by the planner and honours on_failure and a fallback to a value or an expression only", s.Name),
			Fix: "remove the other fields"}, false
	}
	return Error{}, true
}

// honoured reports whether a kind that the planner evaluates honours every given field.
func (r *Rule) honoured(sync bool) bool {
	other := r.fields.given &^ onFailure
	if r.fields.values.Fallback == "" || valueFallback(r.fields.values.Fallback) {
		other &^= fallback
	}
	return other == 0 || other == mode && sync
}

// CheckOwn is Check for the own policy of a component.
func (r *Rule) CheckOwn(s Subject) (problem Error, ok bool) {
	own := *r
	own.name = pattern{exact: s.Name}
	return own.Check(s)
}
