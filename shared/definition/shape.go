package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// Shape makes the input of a step's task from the arriving value in env.Input:
//
//   - without `input` and `params` it is that value, untouched and not decoded;
//   - `input` shapes it;
//   - `params` are laid over it: onto an object as further fields, of which those of params win; null is replaced by
//     params; any other value becomes field "input" beside them. Expressions in params see the arriving value.
//
// Errors are of expressions (*expr.Error, wrapped with the path of the parameter).
func (c *Component) Shape(env expr.Env) (json.RawMessage, error) {
	value := env.Input
	if c.Input != nil {
		var err error
		if value, err = c.Input.Eval(env); err != nil {
			return nil, fmt.Errorf("input: %w", err)
		}
	}
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

// ContextOver is the context that the component's expressions and task see: its own values over those of the run. It is
// run itself if the component gives none. run must be an object, null or empty.
func (c *Component) ContextOver(run json.RawMessage) (json.RawMessage, error) {
	if c.Context == nil {
		return run, nil
	}
	if trimmed := bytes.TrimSpace(run); len(trimmed) > 0 && trimmed[0] != '{' && string(trimmed) != "null" {
		return nil, errors.New("a context must be an object")
	}
	return overlay(run, c.context)
}

// overlay lays fields over a value, as Shape says, without decoding deeper than the first level.
func overlay(value json.RawMessage, fields []field) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	switch value = bytes.TrimSpace(value); {
	case len(value) == 0 || string(value) == "null":
	case value[0] == '{':
		var err error
		if all, err = expr.Members(value); err != nil {
			return nil, err
		}
	default:
		all["input"] = value
	}
	for _, f := range fields {
		all[f.name] = f.value
	}
	out := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := expr.Append(out, name)
		if err != nil {
			return nil, err
		}
		out = append(append(key, ':'), all[name]...)
	}
	return append(out, '}'), nil
}

// field is one field of an object, with its JSON.
type field struct {
	name  string
	value json.RawMessage
}

// Params are the parameters of a step: literals, in which an object {"$": "expression"} stands for its value.
type Params struct {
	fields []field        // literal parameters ready, computed ones empty
	exprs  []computedPart // one per computed parameter
}

// computedPart is a parameter with expressions in it.
type computedPart struct {
	index int // in fields
	tree  any // literals, []any, map[string]any and *expr.Program
}

func (p *Params) eval(env expr.Env) ([]field, error) {
	if len(p.exprs) == 0 {
		return p.fields, nil
	}
	fields := slices.Clone(p.fields)
	for _, part := range p.exprs {
		v, err := fillTemplate(part.tree, env)
		if err == nil {
			fields[part.index].value, err = env.Account.Append(nil, v)
		}
		if err != nil {
			return nil, fmt.Errorf("params.%s: %w", fields[part.index].name, err)
		}
	}
	return fields, nil
}

// fillTemplate replaces the programs of a tree by their values.
func fillTemplate(tree any, env expr.Env) (any, error) {
	switch t := tree.(type) {
	case *expr.Program:
		return t.Value(env)
	case []any:
		out := make([]any, len(t))
		for i := range t {
			var err error
			if out[i], err = fillTemplate(t[i], env); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(t))
		for _, k := range slices.Sorted(maps.Keys(t)) {
			var err error
			if out[k], err = fillTemplate(t[k], env); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return tree, nil
}

// Duration is a fixed or a computed duration.
type Duration struct {
	Fixed  time.Duration
	Expr   *expr.Program // nil = Fixed
	Millis bool          // Expr gives an integer of milliseconds instead of a duration
}

// Of evaluates the duration. A computed one that is negative is 0: the time has passed already.
func (d Duration) Of(env expr.Env) (time.Duration, error) {
	if d.Expr == nil {
		return d.Fixed, nil
	}
	v, err := d.Expr.Value(env)
	if err != nil {
		return 0, err
	}
	t, ok := v.(time.Duration)
	if !ok {
		if t, err = policy.DurationOf(v, d.Millis); err != nil {
			return 0, fmt.Errorf("expression %q: the value %w", d.Expr.Source(), err)
		}
	}
	if t > policy.MaxDuration {
		return 0, fmt.Errorf("expression %q: %s is longer than %s", d.Expr.Source(), t, policy.Longest)
	}
	return max(t, 0), nil
}
