package expr

import (
	"errors"
	"fmt"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// Integers are exact 64 bit on every machine: a platform whose int is smaller does not compile.
const _ = int(1) << 62

func compile(src string, allowed vars, want kinds) (*Program, error) {
	p := &Program{source: src, patterns: map[ast.Node]*Pattern{}, allowed: allowed, want: want}
	root, err := parse(src)
	if err != nil {
		return nil, err
	}
	p.root = root
	c := checker{program: p, allowed: allowed}
	k, err := c.infer(root)
	if err != nil {
		return nil, p.locate(err)
	}
	if k&want == 0 {
		return nil, p.fail(root, "this must be "+want.String()+", but it is "+k.String())
	}
	p.result = k & want
	return p, nil
}

// parse runs Expr's parser within the limits. A panic of the parser is a bad expression, not a defect of the caller.
func parse(src string) (root ast.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Error{Expr: src, Message: fmt.Sprint("cannot be parsed: ", r)}
		}
	}()
	if len(src) > MaxSource {
		return nil, &Error{Expr: src[:64] + "…", Message: fmt.Sprintf("longer than %d bytes", MaxSource)}
	}
	config := conf.CreateNew()
	config.MaxNodes = MaxNodes
	tree, err := parser.ParseWithConfig(src, config)
	if err != nil {
		return nil, syntaxError(src, err)
	}
	return tree.Node, nil
}

func syntaxError(src string, err error) error {
	var f *file.Error
	if !errors.As(err, &f) {
		return &Error{Expr: src, Message: err.Error()}
	}
	return &Error{Expr: src, Line: f.Line, Column: f.Column + 1, Message: f.Message}
}
