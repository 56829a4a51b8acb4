package expr

import (
	"fmt"
	"maps"
	"math/bits"

	"github.com/expr-lang/expr/ast"
)

// function is a function of its argument values. Arguments are of the given kinds when it runs.
type function struct {
	params   []kinds
	required int // arguments; -n = n or more, the last kind repeating
	result   kinds
	run      func(m *machine, n ast.Node, args []any) (any, error)
}

// method is a function called on a time or duration.
type method struct {
	of, result kinds
	params     []kinds
	run        func(receiver any, args []any) (any, error)
}

// switchedOff are builtins of Expr that are refused, with the reason.
var switchedOff = map[string]string{
	"timezone": "time zone tables differ between machines; times are in UTC",
}

var functions map[string]function

func init() { // filled here because some functions lead back to it
	functions = map[string]function{}
	for _, family := range []map[string]function{numberFunctions, textFunctions, listFunctions, objectFunctions, timeFunctions, bitFunctions} {
		maps.Copy(functions, family)
	}
}

// builtin runs a function of Expr's own names.
func (m *machine) builtin(n *ast.BuiltinNode) (any, error) {
	if p, ok := predicates[n.Name]; ok {
		return m.predicate(n, p)
	}
	return m.apply(n, n.Name, n.Arguments)
}

// call runs a helper of this package or a method.
func (m *machine) call(n *ast.CallNode) (any, error) {
	callee, ok := n.Callee.(*ast.MemberNode)
	if !ok {
		return m.apply(n, n.Callee.(*ast.IdentifierNode).Value, n.Arguments)
	}
	receiver, err := m.eval(callee.Node)
	if err != nil {
		return nil, err
	}
	if receiver == nil && callee.Optional {
		return nil, shortCircuit{}
	}
	name := callee.Property.(*ast.StringNode).Value
	called := methods[name]
	if kindOf(receiver)&called.of == 0 {
		return nil, faultAt(n, fmt.Sprintf("%s is called on %s, not %s", name, called.of, describe(receiver)),
			value{callee.Node.String(), receiver})
	}
	args, err := m.arguments(n, name, called.params, n.Arguments)
	if err != nil {
		return nil, err
	}
	v, err := called.run(receiver, args)
	if s, ok := v.(string); ok && err == nil {
		err = m.grow(n, len(s))
	}
	return v, m.callFault(n, err, n.Arguments, args)
}

func (m *machine) apply(n ast.Node, name string, nodes []ast.Node) (any, error) {
	f := functions[name]
	args, err := m.arguments(n, name, f.params, nodes)
	if err != nil {
		return nil, err
	}
	v, err := f.run(m, n, args)
	return v, m.callFault(n, err, nodes, args)
}

// callFault adds the arguments to an error that has no place yet.
func (m *machine) callFault(n ast.Node, err error, nodes []ast.Node, args []any) error {
	if err == nil {
		return nil
	}
	if _, placed := err.(*fault); placed {
		return err
	}
	seen := make([]value, len(args))
	for i := range args {
		seen[i] = value{nodes[i].String(), args[i]}
	}
	return faultAt(n, err.Error(), seen...)
}

// arguments evaluates arguments, checks their kinds, and charges for the text that the function will scan.
func (m *machine) arguments(n ast.Node, name string, params []kinds, nodes []ast.Node) ([]any, error) {
	args := make([]any, len(nodes))
	for i, node := range nodes {
		v, err := m.eval(node)
		if err != nil {
			return nil, err
		}
		want := params[min(i, len(params)-1)]
		if kindOf(v)&want == 0 {
			message := fmt.Sprintf("argument %d of %s must be %s, not %s", i+1, name, want, describe(v))
			return nil, faultAt(node, message, value{node.String(), v})
		}
		if s, ok := v.(string); ok {
			if err := m.step(n, len(s)/scanBytes); err != nil {
				return nil, err
			}
		}
		args[i] = v
	}
	return args, nil
}

func bitLength(n int) int { return bits.Len(uint(n)) }
