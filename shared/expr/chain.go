package expr

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// chain evaluates a member chain with `?.` in it: null as soon as an optional receiver is null.
func (m *machine) chain(n *ast.ChainNode) (any, error) {
	v, err := m.eval(n.Node)
	if _, ended := err.(shortCircuit); ended {
		return nil, nil
	}
	return v, err
}

func (m *machine) member(n *ast.MemberNode) (any, error) {
	receiver, err := m.eval(n.Node)
	if err != nil {
		return nil, err
	}
	if receiver == nil && n.Optional {
		return nil, shortCircuit{}
	}
	return m.property(n, receiver, n.Optional)
}

// optional evaluates the left side of `??`: in a member chain every absent field and null receiver gives null.
func (m *machine) optional(n ast.Node) (any, error) {
	if err := m.step(n, 1); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *ast.ChainNode:
		return m.optional(n.Node)
	case *ast.MemberNode:
		receiver, err := m.optional(n.Node)
		if err != nil || receiver == nil {
			return nil, err
		}
		return m.property(n, receiver, true)
	case *ast.SliceNode:
		receiver, err := m.optional(n.Node)
		if err != nil || receiver == nil {
			return nil, err
		}
		return m.sliceOf(n, receiver)
	}
	return m.eval(n)
}

// property takes a field of an object, or an element of a list or text. An absent one is null if optional, else an error.
func (m *machine) property(n *ast.MemberNode, receiver any, optional bool) (any, error) {
	key, err := m.eval(n.Property)
	if err != nil {
		return nil, err
	}
	v, found, err := m.lookup(n, receiver, key)
	if err != nil {
		return nil, err
	}
	if !found && !optional {
		if names, ok := receiver.(map[string]any); ok { // they are listed
			if err := m.step(n, walkSteps(len(names))); err != nil {
				return nil, err
			}
		}
		return nil, faultAt(n, absent(n, receiver, key), value{n.Node.String(), receiver})
	}
	return v, nil
}

func (m *machine) lookup(n *ast.MemberNode, receiver, key any) (v any, found bool, err error) {
	switch r := receiver.(type) {
	case stateNames:
		v, err = m.stateNamed(n, key.(string)) // the checker lets no other key through
		return v, true, err
	case map[string]any:
		if k, ok := key.(string); ok {
			v, found = r[k]
			return v, found, m.scan(n, k)
		}
	case []any:
		if i, ok := integer(key); ok {
			if i < 0 {
				i += int64(len(r))
			}
			if i < 0 || i >= int64(len(r)) {
				return nil, false, nil
			}
			return r[i], true, nil
		}
	case string:
		if i, ok := integer(key); ok {
			return m.character(n, r, i)
		}
	}
	message := fmt.Sprintf("%s has no %s", describe(receiver), field(key))
	if receiver == nil {
		message = fmt.Sprintf("cannot take %s of null; write ?. if it is optional", field(key))
	}
	return nil, false, faultAt(n, message, value{n.Node.String(), receiver})
}

// character is the i-th character of a text, from its end if i is negative.
func (m *machine) character(n ast.Node, s string, i int64) (any, bool, error) {
	if err := m.characters(n, s); err != nil {
		return nil, false, err
	}
	runes := []rune(s)
	if i < 0 {
		i += int64(len(runes))
	}
	if i < 0 || i >= int64(len(runes)) {
		return nil, false, nil
	}
	return string(runes[i]), true, nil
}

func field(key any) string {
	if s, ok := key.(string); ok {
		return "field `" + s + "`"
	}
	return "element " + show(key)
}

const maxListed = 10 // field names in the error about an absent one

func absent(n *ast.MemberNode, receiver, key any) string {
	message := fmt.Sprintf("`%s` has no %s", n.Node, field(key))
	switch r := receiver.(type) {
	case []any:
		return fmt.Sprintf("%s, it has %d elements", message, len(r))
	case map[string]any:
		names := sortedKeys(r)
		if len(names) == 0 {
			return message + ", it is empty; write ?. or ?? if it is optional"
		}
		more := ""
		if len(names) > maxListed {
			names, more = names[:maxListed], ", …"
		}
		return message + ", only " + strings.Join(names, ", ") + more + "; write ?. or ?? if it is optional"
	}
	return message
}

func (m *machine) slice(n *ast.SliceNode) (any, error) {
	receiver, err := m.eval(n.Node)
	if err != nil {
		return nil, err
	}
	return m.sliceOf(n, receiver)
}

// sliceOf cuts a list or a text; bounds beyond the ends are moved to them, negative ones count from the end.
func (m *machine) sliceOf(n *ast.SliceNode, receiver any) (any, error) {
	switch r := receiver.(type) {
	case []any:
		from, to, err := m.bounds(n, len(r))
		if err != nil {
			return nil, err
		}
		return r[from:to:to], nil
	case string:
		if err := m.grow(n, 4*len(r)); err != nil {
			return nil, err
		}
		runes := []rune(r)
		from, to, err := m.bounds(n, len(runes))
		if err != nil {
			return nil, err
		}
		return string(runes[from:to]), nil
	}
	return nil, faultAt(n, "cannot slice "+describe(receiver), value{n.Node.String(), receiver})
}

func (m *machine) bounds(n *ast.SliceNode, length int) (from, to int, err error) {
	if from, err = m.bound(n.From, 0, length); err != nil {
		return 0, 0, err
	}
	if to, err = m.bound(n.To, length, length); err != nil {
		return 0, 0, err
	}
	return min(from, to), to, nil
}

func (m *machine) bound(n ast.Node, missing, length int) (int, error) {
	if n == nil {
		return missing, nil
	}
	v, err := m.eval(n)
	if err != nil {
		return 0, err
	}
	i, ok := integer(v)
	if !ok {
		return 0, faultAt(n, "a bound must be an integer, not "+describe(v), value{n.String(), v})
	}
	if i < 0 {
		i = max(0, i+int64(length))
	}
	return int(min(i, int64(length))), nil
}
