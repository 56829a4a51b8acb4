package expr

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
)

var numberFunctions = map[string]function{
	"abs":    {[]kinds{numberKind | durationKind}, 1, numberKind | durationKind, runAbs},
	"ceil":   {[]kinds{numberKind}, 1, numberKind, rounding(math.Ceil)},
	"floor":  {[]kinds{numberKind}, 1, numberKind, rounding(math.Floor)},
	"round":  {[]kinds{numberKind}, 1, numberKind, rounding(math.Round)},
	"int":    {[]kinds{numberKind | stringKind}, 1, intKind, runInt},
	"float":  {[]kinds{numberKind | stringKind}, 1, floatKind, runFloat},
	"div":    {[]kinds{numberKind, numberKind}, 2, intKind, runDiv},
	"max":    {[]kinds{numberKind | listKind}, -1, numberKind | nullKind, extreme(1)},
	"min":    {[]kinds{numberKind | listKind}, -1, numberKind | nullKind, extreme(-1)},
	"mean":   {[]kinds{numberKind | listKind}, -1, numberKind, runMean},
	"median": {[]kinds{numberKind | listKind}, -1, numberKind, runMedian},
}

func runAbs(_ *machine, _ ast.Node, args []any) (any, error) {
	if c, _ := compare(args[0], int64(0)); c < 0 {
		return negate(args[0])
	}
	if d, ok := args[0].(interface{ Nanoseconds() int64 }); ok && d.Nanoseconds() < 0 {
		return negate(args[0])
	}
	return args[0], nil
}

func rounding(round func(float64) float64) func(*machine, ast.Node, []any) (any, error) {
	return func(_ *machine, _ ast.Node, args []any) (any, error) {
		if f, ok := args[0].(float64); ok {
			return whole(round(f)), nil
		}
		return args[0], nil
	}
}

// runInt cuts the fraction off, or reads a decimal integer.
func runInt(_ *machine, _ ast.Node, args []any) (any, error) {
	switch v := args[0].(type) {
	case float64:
		if i, ok := integral(math.Trunc(v)); ok {
			return i, nil
		}
		return nil, errOverflow
	case string:
		i, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s is no integer of 64 bit", show(v))
		}
		return i, nil
	}
	return args[0], nil
}

func runFloat(_ *machine, _ ast.Node, args []any) (any, error) {
	if s, ok := args[0].(string); ok {
		v, err := ParseNumber(strings.TrimSpace(s))
		if err != nil {
			return nil, fmt.Errorf("%s is no finite number", show(s))
		}
		f, _ := float(v)
		return f, nil
	}
	f, _ := float(args[0])
	return f, nil
}

// runDiv is integer division, rounded toward zero, so that a == div(a, b) * b + a % b.
func runDiv(_ *machine, _ ast.Node, args []any) (any, error) {
	a, ok := integer(args[0])
	b, both := integer(args[1])
	switch {
	case !ok || !both:
		return nil, errors.New("div takes integers only")
	case b == 0:
		return nil, errZero
	case a == math.MinInt64 && b == -1:
		return nil, errOverflow
	}
	return a / b, nil
}

// numbers collects the numbers of arguments and, at any depth, of lists in them.
func (m *machine) numbers(n ast.Node, args, into []any) ([]any, error) {
	for _, v := range args {
		if err := m.step(n, 1); err != nil {
			return nil, err
		}
		var err error
		switch v := v.(type) {
		case []any:
			into, err = m.numbers(n, v, into)
		case int64, float64:
			if err = m.grow(n, elementBytes); err == nil {
				into = append(into, v)
			}
		default:
			err = fmt.Errorf("takes numbers only, not %s", describe(v))
		}
		if err != nil {
			return nil, err
		}
	}
	return into, nil
}

// extreme is the greatest (1) or least (-1) number, null if there is none.
func extreme(sign int) func(*machine, ast.Node, []any) (any, error) {
	return func(m *machine, n ast.Node, args []any) (any, error) {
		all, err := m.numbers(n, args, nil)
		if err != nil {
			return nil, err
		}
		var best any
		for _, v := range all {
			if c, _ := compare(v, best); best == nil || c*sign > 0 {
				best = v
			}
		}
		return best, nil
	}
}

func runMean(m *machine, n ast.Node, args []any) (any, error) {
	all, err := m.numbers(n, args, nil)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("the mean of no numbers")
	}
	var total any = int64(0)
	for _, v := range all {
		if total, err = arithmetic("+", total, v); err != nil {
			return nil, err
		}
	}
	return arithmetic("/", total, int64(len(all)))
}

func runMedian(m *machine, n ast.Node, args []any) (any, error) {
	all, err := m.numbers(n, args, nil)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("the median of no numbers")
	}
	if err := m.step(n, len(all)*bitLength(len(all))); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b any) int {
		c, _ := compare(a, b)
		return c
	})
	mid := len(all) / 2
	if len(all)%2 == 1 {
		return all[mid], nil
	}
	sum, err := arithmetic("+", all[mid-1], all[mid])
	if err != nil {
		return nil, err
	}
	return arithmetic("/", sum, int64(2))
}
