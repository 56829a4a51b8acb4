package expr

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
)

// machine is one evaluation of a program.
type machine struct {
	program *Program
	env     *Env
	steps   int // taken
	most    int // of them: MaxSteps, or what the account has left
	bytes   int // made, of MaxBytes

	input, context  any // decoded on first use
	haveIn, haveCtx bool
	own             any // state
	haveOwn         bool
	err             any // error, where it is no field of input
	haveErr         bool
	states          map[string]any // those that were looked at
	lets            []slot
	item, acc       any // of the innermost predicate
	index           int
}

type slot struct {
	name string
	v    any
}

// shortCircuit ends an optional chain whose receiver is null; the ChainNode above turns it into null.
type shortCircuit struct{}

func (shortCircuit) Error() string { return "optional chain ends" }

func (m *machine) eval(n ast.Node) (any, error) {
	if err := m.step(n, 1); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *ast.NilNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.IntegerNode:
		return int64(n.Value), nil
	case *ast.FloatNode:
		return n.Value, nil
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IdentifierNode:
		return m.identifier(n)
	case *ast.PointerNode:
		return m.pointer(n), nil
	case *ast.UnaryNode:
		return m.unary(n)
	case *ast.BinaryNode:
		return m.binary(n)
	case *ast.ChainNode:
		return m.chain(n)
	case *ast.MemberNode:
		return m.member(n)
	case *ast.SliceNode:
		return m.slice(n)
	case *ast.CallNode:
		return m.call(n)
	case *ast.BuiltinNode:
		return m.builtin(n)
	case *ast.PredicateNode:
		return m.eval(n.Node)
	case *ast.ConditionalNode:
		return m.conditional(n)
	case *ast.VariableDeclaratorNode:
		return m.let(n)
	case *ast.SequenceNode:
		return m.sequence(n)
	case *ast.ArrayNode:
		return m.list(n)
	case *ast.MapNode:
		return m.object(n)
	}
	panic(fmt.Sprintf("expr: node %T passed the checker", n))
}

// step counts work against the budget.
func (m *machine) step(n ast.Node, work int) error {
	if m.steps += work; m.steps > m.most {
		return m.tired(n)
	}
	return nil
}

func (m *machine) tired(n ast.Node) error {
	if m.steps > MaxSteps {
		return faultAt(n, fmt.Sprintf("takes more than %d steps", MaxSteps))
	}
	return faultAt(n, errSpent.Error())
}

// grow counts made values against the budget, and the work of making them.
func (m *machine) grow(n ast.Node, bytes int) error {
	if err := m.makes(n, bytes); err != nil {
		return err
	}
	return m.step(n, bytes/scanBytes)
}

// makes counts made values against the budget.
func (m *machine) makes(n ast.Node, bytes int) error {
	if m.bytes += bytes; m.bytes > MaxBytes {
		return faultAt(n, fmt.Sprintf("makes more than %d bytes of values", MaxBytes))
	}
	return nil
}

// scan counts text that is looked at by the byte or, by each in turn, by the character.
func (m *machine) scan(n ast.Node, s string) error { return m.step(n, len(s)/scanBytes) }

func (m *machine) characters(n ast.Node, s string) error { return m.step(n, len(s)/characterBytes) }

func (m *machine) identifier(n *ast.IdentifierNode) (any, error) {
	for i := len(m.lets) - 1; i >= 0; i-- {
		if m.lets[i].name == n.Value {
			return m.lets[i].v, nil
		}
	}
	switch varNamed(n.Value) {
	case varInput:
		return m.decoded(n, m.env.Input, &m.input, &m.haveIn, nil, m.readInput)
	case varError:
		return m.failure(n)
	case varState:
		return m.decoded(n, m.env.State, &m.own, &m.haveOwn, nil, m.readContext)
	case varStates:
		return stateNames{}, nil
	case varContext:
		return m.decoded(n, m.env.Context, &m.context, &m.haveCtx, map[string]any{}, m.readContext)
	case varWorkflow:
		return map[string]any{"id": m.env.WorkflowID}, nil
	case varName:
		return m.env.Name, nil
	case varKind:
		return m.env.Kind, nil
	case varTask:
		return m.env.Task, nil
	case varAcc:
		return m.env.Fold.Acc, nil
	case varItem:
		return m.env.Fold.Item, nil
	case varIndex:
		return m.env.Fold.Index, nil
	case varAttempt:
		return int64(m.env.Attempt), nil
	default: // the checker lets no others through
		return nil, nil
	}
}

// failure is the error of what a component catches, or that a fallback is for.
func (m *machine) failure(n *ast.IdentifierNode) (any, error) {
	if len(m.env.Error) > 0 {
		return m.decoded(n, m.env.Error, &m.err, &m.haveErr, nil, m.readContext)
	}
	caught, err := m.decoded(n, m.env.Input, &m.input, &m.haveIn, nil, m.readInput)
	if err != nil {
		return nil, err
	}
	fields, _ := caught.(map[string]any)
	if failure, ok := fields[errorName]; ok {
		return failure, nil
	}
	return nil, faultAt(n, "there is no `error` here: only a component with catch has one")
}

// decoded reads a variable's JSON on first use.
func (m *machine) decoded(n *ast.IdentifierNode, raw []byte, v *any, have *bool, empty any, read func([]byte) (any, error)) (any, error) {
	if *have {
		return *v, nil
	}
	*v, *have = empty, true
	if len(raw) == 0 {
		return *v, nil
	}
	var err error
	*v, err = read(raw)
	m.most = m.env.Account.most(MaxSteps)
	if err != nil {
		return nil, faultAt(n, fmt.Sprintf("`%s` cannot be read: %v", n.Value, err))
	}
	return *v, nil
}

// readInput decodes as much of the input as the program looks at.
func (m *machine) readInput(raw []byte) (any, error) {
	if m.program.whole {
		return m.env.Account.decode(raw)
	}
	return m.env.Account.decodeFields(raw, m.program.fields)
}

func (m *machine) readContext(raw []byte) (any, error) { return decode(raw, m.env.Account) }

func (m *machine) pointer(n *ast.PointerNode) any {
	switch n.Name {
	case "index":
		return int64(m.index)
	case "acc":
		return m.acc
	}
	return m.item
}

// boolean evaluates what must be exactly true or false.
func (m *machine) boolean(n ast.Node, role, of string) (bool, error) {
	v, err := m.eval(n)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, faultAt(n, fmt.Sprintf("%s%s must be true or false, not %s", role, of, describe(v)), value{n.String(), v})
	}
	return b, nil
}

func (m *machine) unary(n *ast.UnaryNode) (any, error) {
	if n.Operator == "not" || n.Operator == "!" {
		b, err := m.boolean(n.Node, "the operand of ", n.Operator)
		return !b, err
	}
	v, err := m.eval(n.Node)
	if err != nil {
		return nil, err
	}
	if n.Operator == "-" {
		v, err = negate(v)
	} else if kindOf(v)&numberKind == 0 {
		err = fmt.Errorf("the operand of + must be a number, not %s", describe(v))
	}
	if err != nil {
		return nil, faultAt(n, err.Error(), value{n.Node.String(), v})
	}
	return v, nil
}

func (m *machine) conditional(n *ast.ConditionalNode) (any, error) {
	holds, err := m.boolean(n.Cond, "the condition", "")
	if err != nil {
		return nil, err
	}
	if holds {
		return m.eval(n.Exp1)
	}
	return m.eval(n.Exp2)
}

func (m *machine) let(n *ast.VariableDeclaratorNode) (any, error) {
	v, err := m.eval(n.Value)
	if err != nil {
		return nil, err
	}
	m.lets = append(m.lets, slot{n.Name, v})
	defer func() { m.lets = m.lets[:len(m.lets)-1] }()
	return m.eval(n.Expr)
}

func (m *machine) sequence(n *ast.SequenceNode) (v any, err error) {
	for _, part := range n.Nodes {
		if v, err = m.eval(part); err != nil {
			return nil, err
		}
	}
	return v, nil
}

const elementBytes = 32 // what an element of a list or object counts in memory

func (m *machine) list(n *ast.ArrayNode) (any, error) {
	if err := m.grow(n, elementBytes*len(n.Nodes)); err != nil {
		return nil, err
	}
	out := make([]any, len(n.Nodes))
	for i, part := range n.Nodes {
		v, err := m.eval(part)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (m *machine) object(n *ast.MapNode) (any, error) {
	if err := m.grow(n, 2*elementBytes*len(n.Pairs)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(n.Pairs))
	for _, part := range n.Pairs {
		pair := part.(*ast.PairNode)
		k, err := m.eval(pair.Key)
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok {
			return nil, faultAt(pair.Key, "a key must be a string, not "+describe(k), value{pair.Key.String(), k})
		}
		if err = m.scan(pair.Key, key); err != nil {
			return nil, err
		}
		if out[key], err = m.eval(pair.Value); err != nil {
			return nil, err
		}
	}
	return out, nil
}
