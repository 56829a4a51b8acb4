package expr

import (
	"fmt"
	"regexp"

	"github.com/expr-lang/expr/ast"
)

// checker walks a parsed expression once: it refuses what can never work (unknown names, arguments that cannot fit,
// patterns that do not compile), infers what the result may be, and notes which variables are used.
type checker struct {
	program *Program
	allowed vars
	lets    []binding
	folds   int // enclosing bodies of reduce
}

type binding struct {
	name  string
	kinds kinds
}

func (c *checker) infer(n ast.Node) (kinds, error) {
	switch n := n.(type) {
	case *ast.NilNode:
		return nullKind, nil
	case *ast.BoolNode:
		return boolKind, nil
	case *ast.IntegerNode:
		return intKind, nil
	case *ast.FloatNode:
		return floatKind, nil
	case *ast.StringNode:
		return stringKind, nil
	case *ast.IdentifierNode:
		return c.identifier(n)
	case *ast.PointerNode:
		return c.pointer(n)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ChainNode:
		k, err := c.infer(n.Node)
		return k | nullKind, err
	case *ast.MemberNode:
		return c.member(n)
	case *ast.SliceNode:
		return c.slice(n)
	case *ast.CallNode:
		return c.call(n)
	case *ast.BuiltinNode:
		return c.function(n, n.Name, n.Arguments)
	case *ast.PredicateNode:
		return c.infer(n.Node)
	case *ast.ConditionalNode:
		return c.conditional(n)
	case *ast.VariableDeclaratorNode:
		return c.let(n)
	case *ast.SequenceNode:
		return c.last(n.Nodes)
	case *ast.ArrayNode:
		_, err := c.last(n.Nodes)
		return listKind, err
	case *ast.MapNode:
		return objectKind, c.object(n)
	}
	return 0, faultAt(n, "this form is not supported")
}

// last checks nodes in order and tells the kinds of the last.
func (c *checker) last(nodes []ast.Node) (k kinds, err error) {
	for _, n := range nodes {
		if k, err = c.infer(n); err != nil {
			return 0, err
		}
	}
	return k, nil
}

// need checks a node that must be able to be one of some kinds.
func (c *checker) need(n ast.Node, want kinds, role string) (kinds, error) {
	k, err := c.infer(n)
	if err != nil {
		return 0, err
	}
	if k&want == 0 {
		return 0, faultAt(n, fmt.Sprintf("%s must be %s, but `%s` is %s", role, want, n, k))
	}
	return k, nil
}

func (c *checker) identifier(n *ast.IdentifierNode) (kinds, error) {
	for i := len(c.lets) - 1; i >= 0; i-- {
		if c.lets[i].name == n.Value {
			return c.lets[i].kinds, nil
		}
	}
	if n.Value == "null" {
		return nullKind, nil
	}
	v := varNamed(n.Value)
	if v == 0 || v&c.allowed == 0 {
		return 0, faultAt(n, fmt.Sprintf("unknown name `%s`; known are %s", n.Value, c.allowed))
	}
	c.program.seen |= v
	c.program.whole = c.program.whole || v == varInput
	switch v {
	case varName, varKind, varTask:
		return stringKind, nil
	case varWorkflow, varContext:
		return objectKind, nil
	}
	return anyKind, nil
}

func (c *checker) pointer(n *ast.PointerNode) (kinds, error) {
	switch {
	case n.Name == "":
		return anyKind, nil
	case n.Name == "index":
		return intKind, nil
	case n.Name == "acc" && c.folds > 0:
		return anyKind, nil
	}
	return 0, faultAt(n, fmt.Sprintf("unknown name `#%s`; known are #, #index and, in reduce, #acc", n.Name))
}

func (c *checker) unary(n *ast.UnaryNode) (kinds, error) {
	switch n.Operator {
	case "not", "!":
		_, err := c.need(n.Node, boolKind, "the operand of "+n.Operator)
		return boolKind, err
	case "-":
		k, err := c.need(n.Node, numberKind|durationKind, "the operand of -")
		return k & (numberKind | durationKind), err
	case "+":
		k, err := c.need(n.Node, numberKind, "the operand of +")
		return k & numberKind, err
	}
	return 0, faultAt(n, "unknown operator "+n.Operator)
}

func (c *checker) conditional(n *ast.ConditionalNode) (kinds, error) {
	if _, err := c.need(n.Cond, boolKind, "the condition"); err != nil {
		return 0, err
	}
	a, err := c.infer(n.Exp1)
	if err != nil {
		return 0, err
	}
	b, err := c.infer(n.Exp2)
	return a | b, err
}

func (c *checker) let(n *ast.VariableDeclaratorNode) (kinds, error) {
	if varNamed(n.Name) != 0 || n.Name == "null" {
		return 0, faultAt(n, fmt.Sprintf("`%s` is a name of the environment; choose another", n.Name))
	}
	k, err := c.infer(n.Value)
	if err != nil {
		return 0, err
	}
	c.lets = append(c.lets, binding{n.Name, k})
	defer func() { c.lets = c.lets[:len(c.lets)-1] }()
	return c.infer(n.Expr)
}

func (c *checker) object(n *ast.MapNode) error {
	for _, pair := range n.Pairs {
		p := pair.(*ast.PairNode)
		if _, err := c.need(p.Key, stringKind, "a key"); err != nil {
			return err
		}
		if _, err := c.infer(p.Value); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) member(n *ast.MemberNode) (kinds, error) {
	if n.Method {
		return 0, faultAt(n, "a method can only be called")
	}
	if c.inputField(n) {
		return anyKind, nil
	}
	of, err := c.infer(n.Node)
	if err != nil {
		return 0, err
	}
	prop, err := c.infer(n.Property)
	if err != nil {
		return 0, err
	}
	want := kinds(0)
	if prop&stringKind != 0 {
		want |= objectKind
	}
	if prop&numberKind != 0 {
		want |= listKind | stringKind
	}
	if n.Optional {
		want |= nullKind
	}
	if of&want == 0 {
		return 0, faultAt(n, fmt.Sprintf("`%s` is %s, which has no %s", n.Node, of, n.Property))
	}
	return anyKind, nil
}

// inputField notes a field that is taken from input by name.
func (c *checker) inputField(n *ast.MemberNode) bool {
	of, ok := n.Node.(*ast.IdentifierNode)
	name, constant := n.Property.(*ast.StringNode)
	if !ok || !constant || of.Value != "input" || c.allowed&varInput == 0 {
		return false
	}
	c.program.seen |= varInput
	c.program.fields = append(c.program.fields, name.Value)
	return true
}

func (c *checker) slice(n *ast.SliceNode) (kinds, error) {
	k, err := c.need(n.Node, listKind|stringKind, "what is sliced")
	if err != nil {
		return 0, err
	}
	for _, bound := range []ast.Node{n.From, n.To} {
		if bound == nil {
			continue
		}
		if _, err := c.need(bound, numberKind, "a bound"); err != nil {
			return 0, err
		}
	}
	return k & (listKind | stringKind), nil
}

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

// pattern compiles the constant pattern of a `matches`.
func (c *checker) pattern(n *ast.BinaryNode) error {
	s, ok := n.Right.(*ast.StringNode)
	if !ok {
		return nil
	}
	re, err := regexp.Compile(s.Value)
	if err != nil {
		return faultAt(n.Right, err.Error())
	}
	c.program.regexps[n] = re
	return nil
}
