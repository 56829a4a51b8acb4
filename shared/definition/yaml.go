package definition

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/heddle-run/heddle/shared/expr"
)

// yaml reads one YAML 1.2 document by its core schema: `no` and `on` are texts, 012 is twelve. The scalars' types are
// decided here, from their text; the library's own rules are those of YAML 1.1 in places.
func (t *tree) yaml(src []byte) (v any, err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics on some malformed input
			v, err = nil, fmt.Errorf("not YAML: %v", r)
		}
	}()
	tokens, err := yamlTokens(src)
	if err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, errors.New("not YAML: " + shortened(yaml.FormatError(err, false, false))) // its Error shows the source, slowly
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, errors.New("more than one YAML document")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, errors.New("the definition is empty")
	}
	y := yamlTree{tree: t, anchors: map[string]any{}}
	return y.value(body, nil, 0)
}

// Limits of YAML source. The library's time grows with the square of what it reads: with the lines of a quoted text (it
// copies the rest of the source at each), with the keys of an object, with nesting. So they are tighter than those of JSON.
const (
	MaxYAML       = 512 << 10 // bytes
	MaxYAMLTokens = 20_000
	MaxYAMLWork   = 1 << 29 // lines times bytes
)

// yamlTokens splits the source and refuses, before it is parsed, what would take the parser too long.
func yamlTokens(src []byte) (token.Tokens, error) {
	if len(src) > MaxYAML {
		return nil, fmt.Errorf("YAML of more than %d bytes; send JSON, or split the workflow", MaxYAML)
	}
	if (bytes.Count(src, []byte("\n"))+bytes.Count(src, []byte("\r")))*len(src) > MaxYAMLWork {
		return nil, errors.New("YAML of too many lines for its length; send JSON, or split the workflow")
	}
	tokens := lexer.Tokenize(string(src))
	if len(tokens) > MaxYAMLTokens {
		return nil, fmt.Errorf("YAML of more than %d tokens; send JSON, or split the workflow", MaxYAMLTokens)
	}
	flow, run := 0, 0 // open brackets; indicators in a row, each of which nests
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		}
		switch t.Type {
		case token.SequenceEntryType, token.MappingKeyType, token.TagType:
			run++
		default:
			run = 0
		}
		if flow > MaxDepth || run > MaxDepth {
			return nil, fmt.Errorf("YAML line %d: nested deeper than %d", t.Position.Line, MaxDepth)
		}
	}
	return tokens, nil
}

type yamlTree struct {
	*tree
	anchors map[string]any
}

func (y *yamlTree) value(n ast.Node, at *place, depth int) (any, error) {
	if err := y.enter(at, depth); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return y.object(n.Values, at, depth)
	case *ast.MappingValueNode:
		return y.object([]*ast.MappingValueNode{n}, at, depth)
	case *ast.SequenceNode:
		return y.list(n, at, depth)
	case *ast.AnchorNode:
		v, err := y.value(n.Value, at, depth)
		y.anchors[n.Name.GetToken().Value] = v
		return v, err
	case *ast.AliasNode:
		return y.alias(n, at, depth)
	case *ast.TagNode:
		return y.tagged(n, at)
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.StringNode:
		if kind := n.Token.Type; kind == token.SingleQuoteType || kind == token.DoubleQuoteType {
			return n.Value, nil
		}
		return y.plain(n.Value, at), nil
	case *ast.NullNode:
		return nil, nil
	case ast.ScalarNode:
		return y.plain(n.GetToken().Value, at), nil
	case nil:
		return nil, nil
	}
	return nil, fmt.Errorf("%s: this form of YAML is not supported", at)
}

func (y *yamlTree) object(members []*ast.MappingValueNode, at *place, depth int) (any, error) {
	out := make(map[string]any, len(members))
	for _, m := range members {
		k, err := y.value(m.Key, at, depth+1)
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok || m.Key.IsMergeKey() {
			y.fail(at.member(m.Key.GetToken().Value), "a key must be a text", "quote it")
			continue
		}
		v, err := y.value(m.Value, at.member(key), depth+1)
		if err != nil {
			return nil, err
		}
		y.put(out, at, key, v)
	}
	return out, nil
}

func (y *yamlTree) list(n *ast.SequenceNode, at *place, depth int) (any, error) {
	out := make([]any, 0, len(n.Values))
	for i, item := range n.Values {
		v, err := y.value(item, at.item(i), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// alias repeats the value of an anchor, which counts against the limits as often as it is repeated.
func (y *yamlTree) alias(n *ast.AliasNode, at *place, depth int) (any, error) {
	name := n.Value.GetToken().Value
	v, ok := y.anchors[name]
	if !ok {
		return nil, fmt.Errorf("%s: unknown anchor %q", at, name)
	}
	return v, y.count(v, at, depth)
}

func (y *yamlTree) count(v any, at *place, depth int) error {
	if err := y.enter(at, depth); err != nil {
		return err
	}
	var parts []any
	switch v := v.(type) {
	case []any:
		parts = v
	case map[string]any:
		for _, k := range sortedKeys(v) {
			parts = append(parts, v[k])
		}
	}
	for _, part := range parts {
		if err := y.count(part, at, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// tagged reads a scalar with one of the core tags.
func (y *yamlTree) tagged(n *ast.TagNode, at *place) (any, error) {
	scalar, ok := n.Value.(ast.ScalarNode)
	if !ok {
		return nil, fmt.Errorf("%s: the tag %s is not supported", at, n.Start.Value)
	}
	text := scalar.GetToken().Value
	if n.Start.Value == "!!str" {
		return text, nil
	}
	v := y.plain(text, at)
	_, isInt := v.(int64)
	f, isFloat := v.(float64)
	_, isBool := v.(bool)
	switch {
	case n.Start.Value == "!!int" && isInt, n.Start.Value == "!!bool" && isBool, n.Start.Value == "!!null" && v == nil:
		return v, nil
	case n.Start.Value == "!!float" && isFloat:
		return f, nil
	case n.Start.Value == "!!float" && isInt:
		return v, nil
	}
	return nil, fmt.Errorf("%s: the tag %s is not supported here", at, n.Start.Value)
}

var (
	yamlInt   = regexp.MustCompile(`^[-+]?[0-9]+$`)
	yamlBased = regexp.MustCompile(`^0o[0-7]+$|^0x[0-9a-fA-F]+$`)
	yamlFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	yamlOther = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// plain gives an unquoted scalar its type by the core schema.
func (y *yamlTree) plain(s string, at *place) any {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	var v any
	var err error
	switch {
	case yamlInt.MatchString(s):
		v, err = strconv.ParseInt(s, 10, 64)
	case yamlBased.MatchString(s):
		v, err = strconv.ParseInt(s, 0, 64)
	case yamlFloat.MatchString(s):
		v, err = expr.ParseNumber(jsonNumber(s))
	case yamlOther.MatchString(s):
		err = errors.New("not a finite number")
	default:
		return s
	}
	if err != nil {
		y.fail(at, fmt.Sprintf("%s is not a finite number of 64 bit", shortened(s)), "quote it to have a text")
	}
	return v
}

// jsonNumber writes a YAML float as JSON does: no plus, digits on both sides of the point.
func jsonNumber(s string) string {
	s = strings.TrimPrefix(s, "+")
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction == "" {
		fraction = "0"
	}
	return sign + whole + "." + fraction + exponent
}
