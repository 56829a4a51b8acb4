package expr

import (
	"cmp"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
)

// compare orders two values of one kind: numbers exactly, text by bytes, times, durations. Others have no order.
func compare(a, b any) (c int, ok bool) {
	switch a := a.(type) {
	case int64:
		switch b := b.(type) {
		case int64:
			return cmp.Compare(a, b), true
		case float64:
			return compareNumbers(a, b), true
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return -compareNumbers(b, a), true
		case float64:
			return cmp.Compare(a, b), true
		}
	case string:
		if b, is := b.(string); is {
			return strings.Compare(a, b), true
		}
	case time.Time:
		if b, is := b.(time.Time); is {
			return a.Compare(b), true
		}
	case time.Duration:
		if b, is := b.(time.Duration); is {
			return cmp.Compare(a, b), true
		}
	}
	return 0, false
}

// equal is the one deep equality. Values of different kinds are not equal.
func (m *machine) equal(n ast.Node, a, b any) (bool, error) {
	if err := m.step(n, 1); err != nil {
		return false, err
	}
	switch a := a.(type) {
	case nil:
		return b == nil, nil
	case bool:
		return a == b, nil
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		return m.equalLists(n, a, b)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		return m.equalObjects(n, a, b)
	case string:
		if err := m.step(n, len(a)/scanBytes); err != nil {
			return false, err
		}
	}
	c, ok := compare(a, b)
	return ok && c == 0, nil
}

func (m *machine) equalLists(n ast.Node, a, b []any) (bool, error) {
	for i := range a {
		if eq, err := m.equal(n, a[i], b[i]); err != nil || !eq {
			return false, err
		}
	}
	return true, nil
}

func (m *machine) equalObjects(n ast.Node, a, b map[string]any) (bool, error) {
	if err := m.step(n, walkSteps(len(a))); err != nil {
		return false, err
	}
	for _, k := range sortedKeys(a) {
		other, ok := b[k]
		if !ok {
			return false, nil
		}
		if eq, err := m.equal(n, a[k], other); err != nil || !eq {
			return false, err
		}
	}
	return true, nil
}
