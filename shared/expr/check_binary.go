package expr

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
)

const orderedKind = numberKind | stringKind | timeKind | durationKind

// binary infers a binary operator. Only what fails for every value is refused here; the rest is found with the data.
func (c *checker) binary(n *ast.BinaryNode) (kinds, error) {
	if n.Operator == "??" {
		c.lenient++
	}
	a, err := c.infer(n.Left)
	if n.Operator == "??" {
		c.lenient--
	}
	if err != nil {
		return 0, err
	}
	b, err := c.infer(n.Right)
	if err != nil {
		return 0, err
	}
	if n.Operator == "matches" {
		if err := c.pattern(n); err != nil {
			return 0, err
		}
	}
	k, ok := binaryKinds(n.Operator, a, b)
	if !ok {
		return 0, faultAt(n, fmt.Sprintf("operator %s cannot take %s and %s", n.Operator, a, b))
	}
	return k, nil
}

func binaryKinds(op string, a, b kinds) (kinds, bool) {
	both := func(k kinds) bool { return a&k != 0 && b&k != 0 }
	switch op {
	case "and", "&&", "or", "||":
		return boolKind, both(boolKind)
	case "==", "!=":
		return boolKind, comparable(a, b)
	case "<", "<=", ">", ">=":
		return boolKind, comparable(a&orderedKind, b&orderedKind)
	case "in":
		return boolKind, b&listKind != 0 || a&stringKind != 0 && b&objectKind != 0
	case "contains", "startsWith", "endsWith", "matches":
		return boolKind, both(stringKind)
	case "..":
		return listKind, both(numberKind)
	case "??":
		return a&^nullKind | b, true
	}
	return arithmeticKinds(op, a, b)
}

// comparable reports whether two values of these kinds could ever be equal or ordered.
func comparable(a, b kinds) bool {
	if a&numberKind != 0 {
		a |= numberKind
	}
	return a&b != 0 || a == nullKind || b == nullKind
}

func arithmeticKinds(op string, a, b kinds) (k kinds, ok bool) {
	pair := func(x, y kinds) bool { return a&x != 0 && b&y != 0 }
	if pair(numberKind, numberKind) {
		k = numberKind
		if (a|b)&floatKind == 0 && op != "/" && op != "**" && op != "^" || op == "%" {
			k = intKind
		}
	}
	switch op {
	case "+":
		k |= a & b & (stringKind | durationKind)
		if pair(timeKind, durationKind) || pair(durationKind, timeKind) {
			k |= timeKind
		}
	case "-":
		k |= a & b & durationKind
		if pair(timeKind, timeKind) {
			k |= durationKind
		}
		if pair(timeKind, durationKind) {
			k |= timeKind
		}
	case "*":
		if pair(durationKind, numberKind) || pair(numberKind, durationKind) {
			k |= durationKind
		}
	case "/":
		if pair(durationKind, durationKind) {
			k |= numberKind
		}
		if pair(durationKind, numberKind) {
			k |= durationKind
		}
	}
	return k, k != 0
}

// pattern compiles the constant pattern of a `matches`.
func (c *checker) pattern(n *ast.BinaryNode) error {
	s, ok := n.Right.(*ast.StringNode)
	if !ok || c.again || c.program.patterns[n] != nil {
		return nil
	}
	p, err := CompilePattern(s.Value)
	if err != nil {
		return faultAt(n.Right, err.Error())
	}
	c.program.patterns[n] = p
	if c.program.patternSize += p.Size; c.program.patternSize > MaxPattern {
		return faultAt(n.Right, fmt.Sprintf("regular expressions of more than %d instructions together, with repetitions written out", MaxPattern))
	}
	return nil
}
