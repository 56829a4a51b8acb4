package definition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/spelling"
)

// Accumulate is the state that a component folds what arrives into, for the life of the workflow: by Expr, or by
// its task.
type Accumulate struct {
	Init     json.RawMessage // before the first
	Reactors []int           // the parts that react to the state, in their order
}

// Reactor is a part of a state machine: a component of its own, called NAME/reactor/N, whose When is asked of each state.
type Reactor struct {
	Machine int
	Level   bool // it runs for each state for which When holds, and not only where that begins to hold
}

// reducer reads an expression over state and input.
func (r *decoder) reducer(p *part, path string, v any) {
	p.Expr = r.program(path, v, expr.Compile)
}

// taskReducer reads a task that gets {state, input}, with params laid over that.
func (r *decoder) taskReducer(p *part, path string, object map[string]any) {
	for _, field := range sortedKeys(object) {
		at := join(path, field)
		switch field {
		case "step", "params", "queue":
			r.step(p, field, at, object[field])
		default:
			r.fail(at, "unknown field", policy.Known(field, "params, queue, step"))
		}
	}
	if object["step"] == nil {
		r.fail(path, "names no task", `write {step: task}, or an expression: "state + input"`)
		return
	}
	r.queueOf(p, join(path, "step"))
}

// init reads the state before anything has arrived.
func (r *decoder) init(p *part, path string, v any) {
	if b := r.literal(path, v, "the state is there before anything arrives that an expression could look at"); b != nil {
		p.accumulate().Init = b
	}
}

// literal reads a value without expressions; nil: it has some, or is none.
func (r *decoder) literal(path string, v any, fix string) json.RawMessage {
	if _, dynamic := r.template(under(path), v); dynamic {
		r.fail(path, "must be a literal", fix)
		return nil
	}
	b, err := expr.Append(nil, v)
	if err != nil {
		r.fail(path, err.Error(), "")
	}
	return b
}

// accumulate is what p accumulates.
func (p *part) accumulate() *Accumulate {
	if p.Accumulate == nil {
		p.Accumulate = &Accumulate{}
	}
	return p.Accumulate
}

// initialised refuses an accumulating component without an initial state.
func (r *decoder) initialised(p *part) {
	if p.accumulate().Init == nil && !r.failedAt(join(p.path, "init")) {
		r.fail(join(p.path, "init"), "missing", "give the state before anything arrives, such as init: 0")
	}
}

// stateType is what is known of the state that an expression sees.
type stateType struct{ *expr.Type }

// stateOf is what is known of a component's state, whatever was folded.
func stateOf(p *part) *expr.Type {
	if p.Expr == nil || p.Accumulate.Init == nil {
		return nil
	}
	init, err := expr.Decode(p.Accumulate.Init)
	if err != nil {
		panic("definition: an initial state that was written: " + err.Error())
	}
	return expr.Either(expr.ValueType(init), p.Expr.Type())
}

// statesKnown collects what is known of the states.
func (b *builder) statesKnown() {
	b.states = map[string]*expr.Type{}
	for _, p := range b.spec.components {
		if p.Accumulate != nil {
			b.states[p.Name] = stateOf(p)
		}
	}
}

// checkFold checks what an accumulating component folds with.
func (b *builder) checkFold(p *part, input *expr.Type, field string) {
	b.state = &stateType{stateOf(p)}
	defer func() { b.state = nil }()
	b.check(p.Expr, input, join(p.path, field))
	if p.Params == nil {
		return
	}
	for _, part := range p.Params.exprs {
		b.checkTree(part.tree, input, under(join(p.path, field)+".params").member(p.Params.fields[part.index].name))
	}
}

// checkReactor checks a part that reacts to a state, which it sees as state and as input.
func (b *builder) checkReactor(p *part, input *expr.Type) {
	b.state = &stateType{input}
	defer func() { b.state = nil }()
	b.check(p.When, input, strings.TrimSuffix(p.path, ".then")+".when")
	kinds[p.Kind].check(b, p, input)
}

// seesStates notes which states an expression looks at, and refuses those that it cannot see.
func (b *builder) seesStates(p *expr.Program, path string) bool {
	if p.UsesState() && b.state == nil {
		b.fail(path, "there is no state here: only the expression of what accumulates sees its own, and reactors do", "write states.NAME")
		return false
	}
	for _, name := range p.States() {
		switch c := b.graph.Lookup(name); {
		case b.checked == nil:
			b.fail(path, "there are no states here: this is evaluated before anything is folded", "remove states."+name)
			return false
		case c == nil || c.Accumulate == nil:
			b.fail(path, fmt.Sprintf("no component %q accumulates", name), b.nearestState(name))
			return false
		default:
			b.checked.States = insert(b.checked.States, c.Index)
			b.graph.Watched = insert(b.graph.Watched, c.Index)
		}
	}
	return true
}

// insert adds a number to an ascending list that may have it.
func insert(list []int, n int) []int {
	i, found := slices.BinarySearch(list, n)
	if found {
		return list
	}
	return slices.Insert(list, i, n)
}

// nearestState suggests the accumulating component that was probably meant.
func (b *builder) nearestState(name string) string {
	names := sortedKeys(b.states)
	switch best := spelling.Nearest(name, names); {
	case best != "":
		return "nearest: " + best
	case len(names) == 0:
		return "give a component accumulate or state_machine"
	}
	return "those that do: " + joinNames(names)
}

// ShapeFold makes the input of the task that folds: the state and what arrived, which env has, with params laid over.
func (c *Component) ShapeFold(env expr.Env) (json.RawMessage, error) {
	env.Account.TakeText(len(env.State) + len(env.Input))
	value := json.RawMessage(`{"input":`)
	value = append(append(value, env.Input...), `,"state":`...)
	value = append(append(value, env.State...), '}')
	if c.Params == nil {
		return value, nil
	}
	params, err := c.Params.eval(env)
	if err != nil {
		return nil, err
	}
	env.Account.TakeText(2 * len(value))
	return overlay(value, params)
}
