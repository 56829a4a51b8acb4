package expr

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
)

// checker walks a parsed expression once: it refuses what can never work (unknown names, arguments that cannot fit,
// patterns that do not compile), infers what the result may be, and notes which variables are used.
type checker struct {
	program *Program
	allowed vars
	lets    []binding
	folds   int // enclosing bodies of reduce
	known   Known
	lenient int  // enclosing left sides of ??, where a field may be absent
	again   bool // the patterns are compiled
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
		return 0, faultAt(n, unknownName(n.Value, c.allowed))
	}
	c.program.seen |= v
	c.program.whole = c.program.whole || v == varInput || v == varError
	if v == varStates {
		return 0, faultAt(n, "`states` is no value; write states.NAME, or states[\"NAME\"]")
	}
	switch v {
	case varName, varKind, varTask:
		return stringKind, nil
	case varWorkflow, varContext:
		return objectKind, nil
	case varIndex, varAttempt:
		return intKind, nil
	case varInput, varState:
		if t := c.typeOf(n); t != nil {
			return t.kinds, nil
		}
	default: // of any kind
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
	if v := varNamed(n.Name); v&(c.allowed|workflowVars|matcherVars)&^mayBeNamed != 0 || n.Name == "null" {
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
	if name := c.stateOf(n); name != "" {
		return c.stateNamed(name), nil
	}
	of, err := c.receiver(n)
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
	return c.fieldKinds(n)
}

// receiver infers what a field is taken of, and notes a field that is taken from input by name.
func (c *checker) receiver(n *ast.MemberNode) (kinds, error) {
	whole := c.program.whole
	of, err := c.infer(n.Node)
	if err != nil {
		return 0, err
	}
	from, ok := n.Node.(*ast.IdentifierNode)
	name, constant := n.Property.(*ast.StringNode)
	if ok && constant && from.Value == "input" {
		c.program.whole = whole
		c.program.fields = append(c.program.fields, name.Value)
	}
	return of, nil
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
