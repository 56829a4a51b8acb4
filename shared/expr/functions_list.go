package expr

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
)

var listFunctions = map[string]function{
	"len":     {[]kinds{stringKind | listKind | objectKind}, 1, intKind, runLen},
	"type":    {[]kinds{anyKind}, 1, stringKind, runType},
	"first":   {[]kinds{listKind}, 1, anyKind, runFirst},
	"last":    {[]kinds{listKind}, 1, anyKind, runLast},
	"take":    {[]kinds{listKind, numberKind}, 2, listKind, runTake},
	"reverse": {[]kinds{listKind}, 1, listKind, runReverse},
	"uniq":    {[]kinds{listKind}, 1, listKind, runUniq},
	"concat":  {[]kinds{listKind}, -1, listKind, runConcat},
	"flatten": {[]kinds{listKind}, 1, listKind, runFlatten},
	"sort":    {[]kinds{listKind, stringKind}, 1, listKind, runSort},
	"append":  {[]kinds{listKind, anyKind}, -2, listKind, runAppend},
}

func runLen(_ *machine, _ ast.Node, args []any) (any, error) {
	switch v := args[0].(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), nil
	case []any:
		return int64(len(v)), nil
	}
	return int64(len(args[0].(map[string]any))), nil
}

// runType names the type of a value in JSON's terms; a number is "int" if its value is an integer, so that equal
// numbers have one type.
func runType(_ *machine, _ ast.Node, args []any) (any, error) {
	switch v := args[0].(type) {
	case nil:
		return "null", nil
	case bool:
		return "bool", nil
	case int64:
		return "int", nil
	case float64:
		if _, ok := integral(v); ok {
			return "int", nil
		}
		return "float", nil
	case string:
		return "string", nil
	case []any:
		return "array", nil
	case map[string]any:
		return "map", nil
	}
	if kindOf(args[0]) == timeKind {
		return "time", nil
	}
	return "duration", nil
}

func runFirst(_ *machine, _ ast.Node, args []any) (any, error) {
	if list := args[0].([]any); len(list) > 0 {
		return list[0], nil
	}
	return nil, nil
}

func runLast(_ *machine, _ ast.Node, args []any) (any, error) {
	if list := args[0].([]any); len(list) > 0 {
		return list[len(list)-1], nil
	}
	return nil, nil
}

func runTake(_ *machine, _ ast.Node, args []any) (any, error) {
	list := args[0].([]any)
	n, ok := integer(args[1])
	if !ok || n < 0 {
		return nil, errors.New("the number of elements must be an integer that is not negative")
	}
	k := int(min(n, int64(len(list))))
	return list[:k:k], nil
}

// copied is a copy of a list, charged, with room for more.
func (m *machine) copied(n ast.Node, list []any, more int) ([]any, error) {
	if err := m.grow(n, elementBytes*(len(list)+more)); err != nil {
		return nil, err
	}
	if err := m.step(n, (len(list)+more)/8); err != nil {
		return nil, err
	}
	return append(make([]any, 0, len(list)+more), list...), nil
}

func runReverse(m *machine, n ast.Node, args []any) (any, error) {
	out, err := m.copied(n, args[0].([]any), 0)
	slices.Reverse(out)
	return out, err
}

// runUniq keeps the first of equal elements.
func runUniq(m *machine, n ast.Node, args []any) (any, error) {
	out := []any{}
next:
	for _, v := range args[0].([]any) {
		for _, kept := range out {
			eq, err := m.equal(n, kept, v)
			if err != nil {
				return nil, err
			}
			if eq {
				continue next
			}
		}
		if err := m.grow(n, elementBytes); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func runConcat(m *machine, n ast.Node, args []any) (any, error) {
	var out []any
	for _, v := range args {
		list := v.([]any)
		if err := m.grow(n, elementBytes*len(list)); err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return slices.Clip(out), m.step(n, len(out)/8)
}

func runFlatten(m *machine, n ast.Node, args []any) (any, error) {
	out, err := m.flatten(n, args[0].([]any), []any{}, 0)
	return out, err
}

func (m *machine) flatten(n ast.Node, list, into []any, depth int) ([]any, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("lists nested deeper than %d", MaxDepth)
	}
	for _, v := range list {
		err := m.step(n, 1)
		if err != nil {
			return nil, err
		}
		if inner, ok := v.([]any); ok {
			into, err = m.flatten(n, inner, into, depth+1)
		} else if err = m.grow(n, elementBytes); err == nil {
			into = append(into, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return into, nil
}

func runSort(m *machine, n ast.Node, args []any) (any, error) {
	descending := false
	if len(args) > 1 {
		if args[1] != "asc" && args[1] != "desc" {
			return nil, errors.New(`the order must be "asc" or "desc"`)
		}
		descending = args[1] == "desc"
	}
	list := args[0].([]any)
	return m.sorted(n, list, list, descending)
}

// runAppend takes the room behind a list that it made itself, so that collecting many
// elements one after the other costs as much for each.
func runAppend(m *machine, n ast.Node, args []any) (any, error) {
	list, more := args[0].([]any), args[1:]
	a := m.env.Account
	if !a.grew(list) {
		out, err := m.copied(n, list, len(more))
		return a.grow(out, more), err
	}
	if err := m.makes(n, elementBytes*(len(list)+len(more))); err != nil {
		return nil, err
	}
	return a.grow(list, more), m.step(n, len(more))
}
