package expr

import (
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// Type is what is known of a value before it is seen. A nil *Type knows nothing.
type Type struct {
	kinds  kinds
	fields map[string]*Type // nil = not known; a field may be absent all the same
	closed bool             // there are no other fields
}

// ListType is the type of every list.
func ListType() *Type { return &Type{kinds: listKind} }

// ObjectType is the type of an object that has these fields and no others.
func ObjectType(fields map[string]*Type) *Type {
	return &Type{kinds: objectKind, fields: fields, closed: true}
}

// SchemaType is what a JSON Schema says of its instances, as far as type, properties, additionalProperties and local
// references tell. schema and root, the document it stands in, are as Decode gives them.
func SchemaType(schema, root any) *Type { return schemaType(schema, root, 0) }

const maxTypeDepth = 32

func schemaType(schema, root any, depth int) *Type {
	s, ok := schema.(map[string]any)
	if !ok || depth > maxTypeDepth {
		return nil
	}
	if ref, is := s["$ref"].(string); is {
		return schemaType(ResolveRef(root, ref), root, depth+1)
	}
	t := &Type{kinds: schemaKinds(s["type"])}
	if properties, is := s["properties"].(map[string]any); is {
		t.fields = make(map[string]*Type, len(properties))
		for _, name := range sortedKeys(properties) {
			t.fields[name] = schemaType(properties[name], root, depth+1)
		}
	}
	_, patterns := s["patternProperties"]
	t.closed = s["additionalProperties"] == false && !patterns
	return t
}

// ResolveRef follows a reference of a JSON Schema within its own document (#/$defs/line); nil if it leads elsewhere.
func ResolveRef(root any, ref string) any {
	parts := strings.Split(ref, "/")
	if parts[0] != "#" {
		return nil
	}
	at := root
	for _, part := range parts[1:] {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}

var schemaNames = map[string]kinds{
	"null": nullKind, "boolean": boolKind, "integer": numberKind, "number": numberKind, "string": stringKind,
	"array": listKind, "object": objectKind,
}

// schemaKinds reads the keyword type: a name or a list of names.
func schemaKinds(v any) (k kinds) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		name, _ := item.(string)
		k |= schemaNames[name]
	}
	if k == 0 {
		return anyKind
	}
	return k
}

// Known is what is known of an expression's variables; nil: nothing.
type Known struct {
	Input  *Type
	State  *Type
	States map[string]*Type
}

// Check compiles the expression again, knowing the types of its variables: what can never work is an *Error.
func (p *Program) Check(known Known) error {
	if known.Input == nil && known.State == nil && known.States == nil {
		return nil
	}
	again := Program{source: p.source, root: p.root, patterns: p.patterns}
	c := checker{program: &again, allowed: p.allowed, known: known, again: true}
	k, err := c.infer(p.root)
	if err != nil {
		return p.locate(err)
	}
	if k&p.want == 0 {
		return p.fail(p.root, "this must be "+p.want.String()+", but it is "+k.String())
	}
	return nil
}

// typeOf is the type of a chain of fields from input or a state.
func (c *checker) typeOf(n ast.Node) *Type {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		switch varNamed(n.Value) {
		case varInput:
			return c.known.Input
		case varState:
			if !c.isLet(stateName) {
				return c.known.State
			}
		default: // nothing is known of the others
		}
	case *ast.ChainNode:
		return c.typeOf(n.Node)
	case *ast.MemberNode:
		if name := c.stateOf(n); name != "" {
			return c.known.States[name]
		}
		name, ok := n.Property.(*ast.StringNode)
		if of := c.typeOf(n.Node); ok && of != nil {
			return of.fields[name.Value]
		}
	}
	return nil
}

func sortedTypes(fields map[string]*Type) []string { return slices.Sorted(maps.Keys(fields)) }

// fieldKinds are the kinds of a field of known type; a field that may be absent or null when optional may be null.
func (c *checker) fieldKinds(n *ast.MemberNode) (kinds, error) {
	of, name := c.typeOf(n.Node), ""
	if s, ok := n.Property.(*ast.StringNode); ok {
		name = s.Value
	}
	if of == nil || name == "" {
		return anyKind, nil
	}
	optional := n.Optional || c.lenient > 0
	if _, known := of.fields[name]; !known && of.closed && !optional {
		return 0, faultAt(n, "`"+n.Node.String()+"` never has a field `"+name+"`, only "+strings.Join(sortedTypes(of.fields), ", "))
	}
	if optional {
		return anyKind, nil
	}
	if t := of.fields[name]; t != nil {
		return t.kinds, nil
	}
	return anyKind, nil
}
