package expr

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/expr-lang/expr/ast"
)

// predicate is a function that evaluates its second argument for each element of a list.
type predicate struct {
	body   kinds // what the second argument must be
	result kinds
	run    func(m *machine, n *ast.BuiltinNode, list []any) (any, error)
}

var predicates map[string]predicate

func init() { // not a literal: its functions lead back to it
	predicates = map[string]predicate{
		"all":           {boolKind, boolKind, quantifier(func(hits, size int) bool { return hits == size }, false)},
		"none":          {boolKind, boolKind, quantifier(func(hits, _ int) bool { return hits == 0 }, true)},
		"any":           {boolKind, boolKind, quantifier(func(hits, _ int) bool { return hits > 0 }, true)},
		"one":           {boolKind, boolKind, runOne},
		"filter":        {boolKind, listKind, runFilter},
		"map":           {anyKind, listKind, runMap},
		"find":          {boolKind, anyKind, finder(false, true)},
		"findIndex":     {boolKind, intKind | nullKind, finder(false, false)},
		"findLast":      {boolKind, anyKind, finder(true, true)},
		"findLastIndex": {boolKind, intKind | nullKind, finder(true, false)},
		"count":         {boolKind, intKind, runCount},
		"sum":           {numberKind | durationKind, numberKind | durationKind, runSum},
		"groupBy":       {numberKind | stringKind | boolKind, objectKind, runGroupBy},
		"sortBy":        {orderedKind, listKind, runSortBy},
		"reduce":        {anyKind, anyKind, runReduce},
	}
}

func (m *machine) predicate(n *ast.BuiltinNode, p predicate) (any, error) {
	v, err := m.eval(n.Arguments[0])
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, faultAt(n, fmt.Sprintf("%s needs a list, not %s", n.Name, describe(v)), value{n.Arguments[0].String(), v})
	}
	item, acc, index := m.item, m.acc, m.index
	defer func() { m.item, m.acc, m.index = item, acc, index }()
	return p.run(m, n, list)
}

// at evaluates the body for one element.
func (m *machine) at(body ast.Node, i int, item any) (any, error) {
	m.item, m.index = item, i
	return m.eval(body)
}

// test evaluates a boolean body for one element.
func (m *machine) test(n *ast.BuiltinNode, i int, item any) (bool, error) {
	m.item, m.index = item, i
	return m.boolean(n.Arguments[1], "the predicate of ", n.Name)
}

// quantifier counts hits up to the first that decides: a hit if stopAt, a miss if not.
func quantifier(verdict func(hits, size int) bool, stopAt bool) func(*machine, *ast.BuiltinNode, []any) (any, error) {
	return func(m *machine, n *ast.BuiltinNode, list []any) (any, error) {
		hits := 0
		for i, item := range list {
			hit, err := m.test(n, i, item)
			if err != nil {
				return nil, err
			}
			if hit {
				hits++
			}
			if hit == stopAt {
				break
			}
		}
		return verdict(hits, len(list)), nil
	}
}

func runOne(m *machine, n *ast.BuiltinNode, list []any) (any, error) {
	c, err := runCount(m, n, list)
	return c == int64(1), err
}

func runCount(m *machine, n *ast.BuiltinNode, list []any) (any, error) {
	hits := int64(0)
	for i, item := range list {
		var hit bool
		var err error
		if len(n.Arguments) > 1 {
			hit, err = m.test(n, i, item)
		} else if hit, _ = item.(bool); kindOf(item) != boolKind {
			err = faultAt(n, fmt.Sprintf("count without a predicate counts booleans, element %d is %s", i, describe(item)))
		}
		if err != nil {
			return nil, err
		}
		if hit {
			hits++
		}
	}
	return hits, nil
}

func runFilter(m *machine, n *ast.BuiltinNode, list []any) (any, error) {
	if err := m.grow(n, elementBytes*len(list)); err != nil {
		return nil, err
	}
	out := []any{}
	for i, item := range list {
		hit, err := m.test(n, i, item)
		if err != nil {
			return nil, err
		}
		if hit {
			out = append(out, item)
		}
	}
	return out, nil
}

func runMap(m *machine, n *ast.BuiltinNode, list []any) (any, error) {
	if err := m.grow(n, elementBytes*len(list)); err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i, item := range list {
		v, err := m.at(n.Arguments[1], i, item)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// finder gives the first or last hit, as element or index; null if there is none.
func finder(last, element bool) func(*machine, *ast.BuiltinNode, []any) (any, error) {
	return func(m *machine, n *ast.BuiltinNode, list []any) (any, error) {
		for k := range list {
			i := k
			if last {
				i = len(list) - 1 - k
			}
			hit, err := m.test(n, i, list[i])
			if err != nil {
				return nil, err
			}
			if hit && element {
				return list[i], nil
			}
			if hit {
				return int64(i), nil
			}
		}
		return nil, nil
	}
}

func runSum(m *machine, n *ast.BuiltinNode, list []any) (any, error) {
	var total any = int64(0)
	for i, item := range list {
		v := item
		var err error
		if len(n.Arguments) > 1 {
			v, err = m.at(n.Arguments[1], i, item)
		} else {
			err = m.step(n, 1)
		}
		if err != nil {
			return nil, err
		}
		if _, isDuration := v.(time.Duration); isDuration && i == 0 {
			total = time.Duration(0)
		}
		next, err := arithmetic("+", total, v)
		if err != nil {
			return nil, faultAt(n, err.Error(), value{"total", total}, value{"element " + strconv.Itoa(i), v})
		}
		total = next
	}
	return total, nil
}

// runGroupBy groups by a key that is a string, a number or a boolean; keys are written as text.
func runGroupBy(m *machine, n *ast.BuiltinNode, list []any) (any, error) {
	if err := m.grow(n, 2*elementBytes*len(list)); err != nil {
		return nil, err
	}
	groups := map[string]any{}
	for i, item := range list {
		v, err := m.at(n.Arguments[1], i, item)
		if err != nil {
			return nil, err
		}
		key, ok := v.(string)
		if !ok {
			if kindOf(v)&(numberKind|boolKind) == 0 {
				return nil, faultAt(n, "the key of a group must be a string, a number or a boolean, not "+describe(v))
			}
			key = show(v)
		}
		if err := m.scan(n, key); err != nil {
			return nil, err
		}
		group, _ := groups[key].([]any)
		groups[key] = append(group, item)
	}
	return groups, nil
}

// runSortBy sorts by key, keeping the order of equal keys.
func runSortBy(m *machine, n *ast.BuiltinNode, list []any) (any, error) {
	descending, err := m.descending(n, n.Arguments[2:])
	if err != nil {
		return nil, err
	}
	keys, err := runMap(m, n, list)
	if err != nil {
		return nil, err
	}
	return m.sorted(n, list, keys.([]any), descending)
}

// descending reads the optional argument of a sort: "asc" or "desc".
func (m *machine) descending(n ast.Node, rest []ast.Node) (bool, error) {
	if len(rest) == 0 {
		return false, nil
	}
	v, err := m.eval(rest[0])
	if err != nil {
		return false, err
	}
	if v != "asc" && v != "desc" {
		return false, faultAt(n, `the order must be "asc" or "desc", not `+show(v))
	}
	return v == "desc", nil
}

// sorted sorts list by keys, of which any two must have an order.
func (m *machine) sorted(n ast.Node, list, keys []any, descending bool) (any, error) {
	order := make([]int, len(list))
	text := 0
	for i := range order {
		order[i] = i
		if s, ok := keys[i].(string); ok {
			text += len(s) / scanBytes
		}
		if _, ok := compare(keys[0], keys[i]); !ok {
			return nil, faultAt(n, fmt.Sprintf("cannot order %s and %s", describe(keys[0]), describe(keys[i])))
		}
	}
	if err := m.step(n, (len(list)+text)*bitLength(len(list))); err != nil {
		return nil, err
	}
	if err := m.grow(n, elementBytes*len(list)); err != nil {
		return nil, err
	}
	slices.SortStableFunc(order, func(i, j int) int {
		c, _ := compare(keys[i], keys[j])
		if descending {
			return -c
		}
		return c
	})
	out := make([]any, len(list))
	for i, k := range order {
		out[i] = list[k]
	}
	return out, nil
}

// runReduce folds from the left. Without an initial value the first element is it.
func runReduce(m *machine, n *ast.BuiltinNode, list []any) (any, error) {
	first := 0
	switch {
	case len(n.Arguments) > 2:
		init, err := m.eval(n.Arguments[2])
		if err != nil {
			return nil, err
		}
		m.acc = init
	case len(list) == 0:
		return nil, faultAt(n, "reduce of an empty list needs an initial value")
	default:
		m.acc, first = list[0], 1
	}
	for i := first; i < len(list); i++ {
		acc, err := m.at(n.Arguments[1], i, list[i])
		if err != nil {
			return nil, err
		}
		m.acc = acc
	}
	return m.acc, nil
}
