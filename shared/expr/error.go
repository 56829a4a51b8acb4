package expr

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
)

// Error is an expression that could not be compiled or evaluated: the expression, the place, and the values it saw.
type Error struct {
	Expr    string
	Line    int // from 1; 0 = no place in particular
	Column  int // from 1, in characters
	Message string
	Values  []Seen // of the operands at that place
}

// Seen is a part of an expression and the value it had there.
type Seen struct {
	Expr  string
	Value string // JSON, shortened
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "expression %q", e.Expr)
	if e.Line > 0 {
		fmt.Fprintf(&b, " at %d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	b.WriteString(e.Message)
	if len(e.Values) == 0 {
		return b.String()
	}
	seen := make([]string, len(e.Values))
	for i, s := range e.Values {
		seen[i] = s.Expr + " = " + s.Value
	}
	return b.String() + " (" + strings.Join(seen, ", ") + ")"
}

// value is a part of an expression with its value, before it is printed.
type value struct {
	expr string
	v    any
}

// fault is what went wrong at a node, before the place is known as line and column.
type fault struct {
	node    ast.Node
	message string
	seen    []value
}

func (f *fault) Error() string { return f.message }

func faultAt(n ast.Node, message string, seen ...value) error {
	return &fault{node: n, message: message, seen: seen}
}

// locate turns a fault into an Error of this program.
func (p *Program) locate(err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return &Error{Expr: p.source, Message: err.Error()}
	}
	return p.fail(f.node, f.message, f.seen...)
}

func (p *Program) fail(n ast.Node, message string, seen ...value) *Error {
	e := &Error{Expr: p.source, Message: message}
	e.Line, e.Column = place(p.source, n.Location().From)
	for _, s := range seen {
		if shown := show(s.v); shown != s.expr {
			e.Values = append(e.Values, Seen{s.expr, shown})
		}
	}
	return e
}

// place turns an offset in characters into line and column.
func place(src string, offset int) (line, column int) {
	line, column = 1, 1
	for _, r := range src {
		if offset--; offset < 0 {
			break
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}

const maxShown = 120 // bytes of a value in an error

// show prints a value for people.
func show(v any) string {
	b, err := appendLimited(nil, v, 4*maxShown)
	if err != nil {
		_, kind, _ := strings.Cut(describe(v), " ") // an article comes first
		return "a large " + kind
	}
	if len(b) <= maxShown {
		return string(b)
	}
	b = b[:maxShown]
	for len(b) > 0 && !utf8.Valid(b) {
		b = b[:len(b)-1]
	}
	return string(b) + "…"
}
