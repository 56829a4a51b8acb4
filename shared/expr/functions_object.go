package expr

import (
	"errors"
	"fmt"
	"maps"

	"github.com/expr-lang/expr/ast"
)

var objectFunctions = map[string]function{
	"get":       {[]kinds{objectKind | listKind | nullKind, stringKind | numberKind}, 2, anyKind, runGet},
	"keys":      {[]kinds{objectKind}, 1, listKind, walking(func(k string, _ any) any { return k })},
	"values":    {[]kinds{objectKind}, 1, listKind, walking(func(_ string, v any) any { return v })},
	"toPairs":   {[]kinds{objectKind}, 1, listKind, walking(func(k string, v any) any { return []any{k, v} })},
	"fromPairs": {[]kinds{listKind}, 1, objectKind, runFromPairs},
	"merge":     {[]kinds{objectKind}, -1, objectKind, runMerge},
	"set":       {[]kinds{objectKind | listKind, stringKind | numberKind | listKind, anyKind}, 3, objectKind | listKind, runSet},
}

// runGet is the field or element, null if there is none.
func runGet(_ *machine, _ ast.Node, args []any) (any, error) {
	switch from := args[0].(type) {
	case map[string]any:
		if k, ok := args[1].(string); ok {
			return from[k], nil
		}
	case []any:
		i, ok := integer(args[1])
		if !ok {
			break
		}
		if i < 0 {
			i += int64(len(from))
		}
		if i < 0 || i >= int64(len(from)) {
			return nil, nil
		}
		return from[i], nil
	default:
		return nil, nil
	}
	return nil, fmt.Errorf("%s has no %s", describe(args[0]), field(args[1]))
}

// walking lists something of each member, in the order of the keys.
func walking(of func(k string, v any) any) func(*machine, ast.Node, []any) (any, error) {
	return func(m *machine, n ast.Node, args []any) (any, error) {
		object := args[0].(map[string]any)
		if err := m.chargeObject(n, object); err != nil {
			return nil, err
		}
		out := make([]any, 0, len(object))
		for _, k := range sortedKeys(object) {
			out = append(out, of(k, object[k]))
		}
		return out, nil
	}
}

// chargeObject counts a walk through, or a copy of, an object.
func (m *machine) chargeObject(n ast.Node, object map[string]any) error {
	if err := m.grow(n, 2*elementBytes*len(object)); err != nil {
		return err
	}
	return m.step(n, walkSteps(len(object)))
}

// walkSteps is what it takes to bring the keys of an object in order.
func walkSteps(members int) int { return members * bitLength(members) / 4 }

// runFromPairs makes an object of [key, value] pairs; of equal keys the last counts.
func runFromPairs(m *machine, n ast.Node, args []any) (any, error) {
	list := args[0].([]any)
	if err := m.grow(n, 2*elementBytes*len(list)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(list))
	for i, v := range list {
		pair, ok := v.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("element %d is no [key, value] pair", i)
		}
		k, ok := pair[0].(string)
		if !ok {
			return nil, fmt.Errorf("the key of pair %d must be a string, not %s", i, describe(pair[0]))
		}
		if err := m.scan(n, k); err != nil {
			return nil, err
		}
		out[k] = pair[1]
	}
	return out, nil
}

// runMerge lays objects over one another: a field of a later one wins, whole.
func runMerge(m *machine, n ast.Node, args []any) (any, error) {
	out := map[string]any{}
	for _, v := range args {
		object := v.(map[string]any)
		if err := m.chargeObject(n, object); err != nil {
			return nil, err
		}
		maps.Copy(out, object)
	}
	return out, nil
}

// runSet is a copy with one field or element replaced; a list of keys is a path, whose missing objects are made.
func runSet(m *machine, n ast.Node, args []any) (any, error) {
	path, ok := args[1].([]any)
	if !ok {
		path = args[1:2]
	}
	if len(path) == 0 {
		return nil, errors.New("an empty path")
	}
	return m.set(n, args[0], path, args[2])
}

func (m *machine) set(n ast.Node, in any, path []any, v any) (any, error) {
	if len(path) == 0 {
		return v, nil
	}
	switch in := in.(type) {
	case nil:
		return m.setField(n, map[string]any{}, path, v)
	case map[string]any:
		return m.setField(n, in, path, v)
	case []any:
		return m.setElement(n, in, path, v)
	}
	return nil, fmt.Errorf("cannot set %s of %s", field(path[0]), describe(in))
}

func (m *machine) setField(n ast.Node, object map[string]any, path []any, v any) (any, error) {
	k, ok := path[0].(string)
	if !ok {
		return nil, fmt.Errorf("an object has no %s", field(path[0]))
	}
	v, err := m.set(n, object[k], path[1:], v)
	if err != nil {
		return nil, err
	}
	return runMerge(m, n, []any{object, map[string]any{k: v}})
}

func (m *machine) setElement(n ast.Node, list []any, path []any, v any) (any, error) {
	i, ok := integer(path[0])
	if !ok || i < 0 || i >= int64(len(list)) {
		return nil, fmt.Errorf("a list of %d elements has no %s", len(list), field(path[0]))
	}
	v, err := m.set(n, list[i], path[1:], v)
	if err != nil {
		return nil, err
	}
	out, err := m.copied(n, list, 0)
	if err != nil {
		return nil, err
	}
	out[i] = v
	return out, nil
}
