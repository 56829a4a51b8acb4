package expr

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
)

// call checks the call of a helper or of a method of a time or duration.
func (c *checker) call(n *ast.CallNode) (kinds, error) {
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		return c.function(n, callee.Value, n.Arguments)
	case *ast.MemberNode:
		name, ok := callee.Property.(*ast.StringNode)
		if !ok {
			break
		}
		m, ok := methods[name.Value]
		if !ok {
			return 0, faultAt(n, fmt.Sprintf("unknown method `%s`", name.Value))
		}
		if _, err := c.need(callee.Node, m.of, "what "+name.Value+" is called on"); err != nil {
			return 0, err
		}
		return m.result, c.arguments(n, name.Value, m.params, len(m.params), n.Arguments)
	}
	return 0, faultAt(n, "only functions can be called")
}

func (c *checker) function(n ast.Node, name string, args []ast.Node) (kinds, error) {
	if why, off := switchedOff[name]; off {
		return 0, faultAt(n, fmt.Sprintf("`%s` is switched off: %s", name, why))
	}
	if name == "now" {
		if c.allowed&varNow == 0 {
			return 0, faultAt(n, "now() is not known here")
		}
		c.program.seen |= varNow
	}
	if p, ok := predicates[name]; ok {
		return p.result, c.predicate(n, name, p, args)
	}
	f, ok := functions[name]
	if !ok {
		return 0, faultAt(n, fmt.Sprintf("unknown function `%s`", name))
	}
	return f.result, c.arguments(n, name, f.params, f.required, args)
}

// arguments checks the arguments of a function; the last parameter kind of a variadic one repeats.
func (c *checker) arguments(n ast.Node, name string, params []kinds, required int, args []ast.Node) error {
	most, variadic := len(params), required < 0
	if variadic {
		required, most = -required, len(args)
	}
	if len(args) < required || len(args) > most {
		return faultAt(n, fmt.Sprintf("%s takes %s, not %d", name, countOf(required, len(params), variadic), len(args)))
	}
	for i, arg := range args {
		want := params[min(i, len(params)-1)]
		if _, err := c.need(arg, want, fmt.Sprintf("argument %d of %s", i+1, name)); err != nil {
			return err
		}
	}
	return nil
}

func countOf(required, most int, variadic bool) string {
	switch {
	case variadic:
		return fmt.Sprintf("%d or more arguments", required)
	case required == most:
		return fmt.Sprintf("%d arguments", required)
	}
	return fmt.Sprintf("%d to %d arguments", required, most)
}

func (c *checker) predicate(n ast.Node, name string, p predicate, args []ast.Node) error {
	if len(args) == 0 {
		return faultAt(n, name+" needs a list")
	}
	if _, err := c.need(args[0], listKind, "argument 1 of "+name); err != nil {
		return err
	}
	if name == "reduce" {
		c.folds++
		defer func() { c.folds-- }()
	}
	for i, arg := range args[1:] {
		want := anyKind
		if _, ok := arg.(*ast.PredicateNode); ok {
			want = p.body
		} else if name == "sortBy" {
			want = stringKind
		}
		if _, err := c.need(arg, want, fmt.Sprintf("argument %d of %s", i+2, name)); err != nil {
			return err
		}
	}
	return nil
}
