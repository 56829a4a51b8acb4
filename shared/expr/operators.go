package expr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// Bytes of text for a step: what is scanned or copied, and what is taken apart into characters.
const (
	scanBytes      = 64
	characterBytes = 16
)

func (m *machine) binary(n *ast.BinaryNode) (any, error) {
	switch n.Operator {
	case "and", "&&", "or", "||":
		return m.logical(n)
	case "??":
		return m.coalesce(n)
	}
	a, err := m.eval(n.Left)
	if err != nil {
		return nil, err
	}
	b, err := m.eval(n.Right)
	if err != nil {
		return nil, err
	}
	v, err := m.operate(n, a, b)
	if err != nil {
		return nil, m.operandFault(n, err, a, b)
	}
	return v, nil
}

// operandFault adds the operands to an error that has no place yet.
func (m *machine) operandFault(n *ast.BinaryNode, err error, a, b any) error {
	var f *fault
	if errors.As(err, &f) {
		return err
	}
	return faultAt(n, err.Error(), value{n.Left.String(), a}, value{n.Right.String(), b})
}

func (m *machine) logical(n *ast.BinaryNode) (any, error) {
	const role = "an operand of "
	a, err := m.boolean(n.Left, role, n.Operator)
	if err != nil {
		return nil, err
	}
	if isAnd := n.Operator == "and" || n.Operator == "&&"; a != isAnd {
		return a, nil
	}
	return m.boolean(n.Right, role, n.Operator)
}

func (m *machine) coalesce(n *ast.BinaryNode) (any, error) {
	v, err := m.optional(n.Left)
	if _, ended := err.(shortCircuit); ended {
		v, err = nil, nil
	}
	if err != nil || v != nil {
		return v, err
	}
	return m.eval(n.Right)
}

func (m *machine) operate(n *ast.BinaryNode, a, b any) (any, error) {
	switch n.Operator {
	case "==":
		return m.equal(n, a, b)
	case "!=":
		eq, err := m.equal(n, a, b)
		return !eq, err
	case "<", "<=", ">", ">=":
		return m.ordered(n, a, b)
	case "in":
		return m.in(n, a, b)
	case "contains", "startsWith", "endsWith", "matches":
		return m.text(n, a, b)
	case "..":
		return m.span(n, a, b)
	case "+":
		return m.add(n, a, b)
	}
	return arithmetic(n.Operator, a, b)
}

func cannot(op string, a, b any) error {
	return fmt.Errorf("operator %s cannot take %s and %s", op, describe(a), describe(b))
}

func (m *machine) ordered(n *ast.BinaryNode, a, b any) (any, error) {
	c, ok := compare(a, b)
	if !ok {
		return nil, cannot(n.Operator, a, b)
	}
	if s, isText := a.(string); isText {
		if err := m.step(n, len(s)/scanBytes); err != nil {
			return nil, err
		}
	}
	switch n.Operator {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

func (m *machine) in(n *ast.BinaryNode, needle, hay any) (any, error) {
	switch hay := hay.(type) {
	case []any:
		for _, v := range hay {
			if eq, err := m.equal(n, needle, v); err != nil || eq {
				return eq, err
			}
		}
		return false, nil
	case map[string]any:
		if key, ok := needle.(string); ok {
			_, found := hay[key]
			return found, m.scan(n, key)
		}
	}
	return nil, cannot("in", needle, hay)
}

func (m *machine) text(n *ast.BinaryNode, a, b any) (any, error) {
	s, ok := a.(string)
	t, both := b.(string)
	if !ok || !both {
		return nil, cannot(n.Operator, a, b)
	}
	if err := m.step(n, (len(s)+len(t))/scanBytes); err != nil {
		return nil, err
	}
	switch n.Operator {
	case "contains":
		return strings.Contains(s, t), nil
	case "startsWith":
		return strings.HasPrefix(s, t), nil
	case "endsWith":
		return strings.HasSuffix(s, t), nil
	}
	return m.matches(n, s, t)
}

const maxPattern = 1000 // bytes of a pattern that is not constant

func (m *machine) matches(n *ast.BinaryNode, s, pattern string) (any, error) {
	p := m.program.patterns[n]
	if p == nil {
		var err error
		if p, err = m.pattern(n, pattern); err != nil {
			return nil, err
		}
	}
	if err := m.step(n, p.matching(len(s))); err != nil {
		return nil, err
	}
	return p.MatchString(s), nil
}

// pattern compiles a pattern that is not constant.
func (m *machine) pattern(n *ast.BinaryNode, s string) (*Pattern, error) {
	if len(s) > maxPattern {
		return nil, fmt.Errorf("a pattern longer than %d bytes", maxPattern)
	}
	if err := m.step(n, 100+10*len(s)); err != nil {
		return nil, err
	}
	size, err := patternSize(s)
	if err != nil {
		return nil, err
	}
	if err := m.step(n, patternSteps*size); err != nil { // compiling costs far more than matching
		return nil, err
	}
	return CompilePattern(s)
}

// span is the list of integers from a to b, both included; empty if b is less.
func (m *machine) span(n *ast.BinaryNode, a, b any) (any, error) {
	from, ok := integer(a)
	to, both := integer(b)
	if !ok || !both {
		return nil, cannot("..", a, b)
	}
	if to < from {
		return []any{}, nil
	}
	size := uint64(to) - uint64(from)
	if size >= MaxBytes/elementBytes {
		return nil, fmt.Errorf("makes more than %d bytes of values", MaxBytes)
	}
	if err := m.grow(n, elementBytes*int(size+1)); err != nil {
		return nil, err
	}
	out := make([]any, 0, size+1)
	for i := range int64(size + 1) {
		out = append(out, from+i)
	}
	return out, nil
}

func (m *machine) add(n *ast.BinaryNode, a, b any) (any, error) {
	s, ok := a.(string)
	t, both := b.(string)
	if !ok || !both {
		return arithmetic("+", a, b)
	}
	if err := m.grow(n, len(s)+len(t)); err != nil {
		return nil, err
	}
	return s + t, nil
}
