package definition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// resolved is what is known of a component's policy before any input arrives.
type resolved struct {
	rules  []policy.Rule // of the component and the definition that fit it, in order
	policy policy.Policy // what they give, if none of them looks at the input
	ready  bool
}

// Given are the rules that come from outside the definition.
type Given struct {
	Input    []policy.Rule // of the input
	Workflow []policy.Rule // of the workflow
	Replace  bool          // mode: replace of the input: its own rules only
	// OnFailure is the workflow's option; nil = the definition's, else halt. It holds where no rule says otherwise.
	OnFailure *policy.OnFailure
	// Account bounds what the rules' expressions take; nil = nothing does.
	Account *expr.Account
}

// subject is what rules match of a component.
func (c *Component) subject(input json.RawMessage) policy.Subject {
	s := policy.Subject{Name: c.Name, Kind: c.Kind, Evaluated: c.Evaluated(), Task: c.Task, Queue: c.Queue, Input: input}
	if kinds[c.Kind].parted {
		s.Part, s.PartKind = c.Name+thenPart, c.Work()
	}
	return s
}

// PolicyFor resolves the policy of a runnable of c: the input's rules, then the workflow's, then the component's own,
// then the definition's, the first match winning; then the defaults. input is what rules with an expression see. Without
// such rules and without given ones nothing is matched and nothing allocated.
func (g *Graph) PolicyFor(c *Component, input json.RawMessage, given Given) (policy.Policy, error) {
	if c.resolved.ready && len(given.Input) == 0 && len(given.Workflow) == 0 && !given.Replace && given.OnFailure == nil {
		return c.resolved.policy, nil
	}
	base, s := g.defaults(c, given.OnFailure), c.subject(input)
	s.Account = given.Account
	if given.Replace {
		return policy.ResolveOver(base, given.Input, s)
	}
	return policy.ResolveOver(base, given.Input, s, given.Workflow, c.resolved.rules)
}

// defaults is the policy of a component that no rule speaks of. A lenient kind keeps its own reaction to failures.
func (g *Graph) defaults(c *Component, option *policy.OnFailure) policy.Policy {
	k := &kinds[c.Kind]
	p := policy.DefaultOf(c.Evaluated())
	p.MaxRetries = retriesOf[c.Task]
	if option == nil {
		option = g.Options.OnFailure
	}
	switch {
	case k.lenient:
		p.OnFailure = policy.Skip
	case option != nil:
		p.OnFailure = *option
	}
	return p
}

// prepare finds, once, which rules fit the component.
func (g *Graph) prepare(c *Component) {
	s := c.subject(nil)
	c.resolved.rules = append(policy.Narrow(c.Rules, s), policy.Narrow(g.Rules, s)...)
	if policy.AnyDynamic(c.resolved.rules) {
		return
	}
	p, err := policy.ResolveOver(g.defaults(c, nil), c.resolved.rules, s)
	if err != nil {
		panic("definition: rules without expressions cannot fail: " + err.Error())
	}
	c.resolved.policy, c.resolved.ready = p, true
}

// CheckRules refuses rules, given with a workflow or an input, that no component could honour as they stand: a name that
// no component has, fields of a kind that the planner evaluates, sync for a step. Its error is Errors.
func (g *Graph) CheckRules(rules []policy.Rule) error {
	if errs := g.checkRules(rules); errs != nil {
		return errs
	}
	return nil
}

func (g *Graph) checkRules(rules []policy.Rule) (errs Errors) {
	for i := range rules {
		r := &rules[i]
		if name := r.ExactName(); name != "" && !g.has(name) {
			errs = append(errs, Error{Path: r.Path + ".match.name", Message: fmt.Sprintf("no component is called %q", name), Fix: nearestOf(name, g.matched())})
		}
		for _, c := range g.Components {
			if e, ok := r.Check(c.subject(nil)); !c.Gone && !ok {
				errs = append(errs, e)
				break
			}
		}
	}
	return errs
}

// has reports whether a rule may name a component, or a part of one, so.
func (g *Graph) has(name string) bool {
	whole, isPart := strings.CutSuffix(name, thenPart)
	c := g.Lookup(whole)
	return c != nil && (!isPart || kinds[c.Kind].parted)
}

// matched are the names that a rule may give.
func (g *Graph) matched() (names []string) {
	for _, c := range g.Components {
		if c.Gone {
			continue
		}
		names = append(names, c.Name)
		if kinds[c.Kind].parted {
			names = append(names, c.Name+thenPart)
		}
	}
	return names
}

// Lookup finds a component by name; nil if there is none.
func (g *Graph) Lookup(name string) *Component {
	if i, ok := g.byName[name]; ok {
		return g.Components[i]
	}
	return nil
}

// Queues are the queues that attempts of the graph's tasks may go to, by its own rules, sorted.
func (g *Graph) Queues() []string {
	all := map[string]bool{}
	for _, c := range g.Components {
		if c.Task == "" {
			continue
		}
		if c.resolved.ready {
			all[cmp.Or(c.resolved.policy.Queue, c.Queue)] = true
			addQueues(all, c.resolved.policy.Others())
			continue
		}
		all[c.Queue] = true
		for i := range c.resolved.rules {
			all[cmp.Or(c.resolved.rules[i].Queue(), c.Queue)] = true
			addQueues(all, c.resolved.rules[i].Others())
		}
	}
	return sortedKeys(all)
}

// addQueues adds the queues that tasks name; the others go to that of their component.
func addQueues(all map[string]bool, tasks []policy.Other) {
	for _, o := range tasks {
		if o.Queue != "" {
			all[o.Queue] = true
		}
	}
}

// NeedsInput reports whether PolicyFor has to be given the arriving value.
func (g *Graph) NeedsInput(c *Component, given Given) bool {
	return !c.resolved.ready || policy.AnyDynamic(given.Input) || policy.AnyDynamic(given.Workflow)
}
