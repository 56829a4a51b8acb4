package definition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/heddle-run/heddle/shared/expr"
)

// yaml reads one YAML 1.2 document by its core schema: `no` and `on` are texts, 012 is twelve. The scalars' types are
// decided here, from their text; the library's own rules are those of YAML 1.1 in places.
func (t *tree) yaml(src []byte) (v any, err error) {
	root, err := yamlDocument(src)
	if err != nil {
		return nil, err
	}
	y := yamlTree{tree: t, anchors: map[*yaml.Node]any{}}
	return y.value(root, nil, 0)
}

// yamlDepth is the nesting that the library may read: objects and lists of a value take a level each, and indented keys
// one more.
const yamlDepth = 4 * MaxDepth

func yamlNesting(depth int, _ *yaml.DepthContext) error {
	if depth > yamlDepth {
		return fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	return nil
}

// yamlDocument reads the one document of a source.
func yamlDocument(src []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(src), yaml.WithV4Defaults(), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthFunc(yamlNesting))))
	if err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	var doc, more yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the definition is empty")
	case err != nil:
		return nil, notYAML(src, err)
	}
	switch err := loader.Load(&more); {
	case err == nil:
		return nil, errors.New("more than one YAML document")
	case !errors.Is(err, io.EOF):
		return nil, notYAML(src, err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, errors.New("the definition is empty")
	}
	return doc.Content[0], nil
}

// notYAML is what the library says, with its place apart.
func notYAML(src []byte, err error) error {
	var at *yaml.LoadError
	if !errors.As(err, &at) {
		return errors.New("not YAML: " + shortened(err.Error()))
	}
	e := &syntaxError{message: "not YAML: " + shortened(at.Message), line: at.Mark.Line, column: at.Mark.Column}
	switch {
	case strings.Contains(at.Message, "did not find expected ',' or"), strings.Contains(at.Message, "mapping values are not allowed"):
		e.fix = "quote a text that has one of : # , { } [ ] in it"
	case strings.Contains(at.Message, "did not find expected key"):
		e.fix = "indent it as far as what it stands beside"
	}
	if lines := bytes.SplitAfterN(src, []byte("\n"), e.line+1); e.line > 0 && e.line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[e.line-1], " "), []byte("\t")) {
		e.fix = "indent it by spaces: YAML takes no tabs there"
	}
	return e
}

type yamlTree struct {
	*tree
	anchors map[*yaml.Node]any // values that may be repeated
}

func (y *yamlTree) value(n *yaml.Node, at *place, depth int) (any, error) {
	if err := y.enter(at, depth); err != nil {
		return nil, err
	}
	if n.Kind == yaml.AliasNode {
		return y.alias(n, at, depth)
	}
	v, err := y.anew(n, at, depth)
	if n.Anchor != "" && err == nil {
		y.anchors[n] = v
	}
	return v, err
}

// alias repeats the value of an anchor, which counts against the limits as often as it is repeated.
func (y *yamlTree) alias(n *yaml.Node, at *place, depth int) (any, error) {
	v, ok := y.anchors[n.Alias]
	if !ok {
		return nil, fmt.Errorf("%s: the anchor %q is within itself", at, n.Value)
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

func (y *yamlTree) anew(n *yaml.Node, at *place, depth int) (any, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		return y.scalar(n, at)
	case yaml.MappingNode, yaml.SequenceNode:
	default:
		return nil, fmt.Errorf("%s: this form of YAML is not supported", at)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return nil, fmt.Errorf("%s: the tag %s is not supported", at, n.ShortTag())
	}
	if n.Kind == yaml.MappingNode {
		return y.object(n, at, depth)
	}
	return y.list(n, at, depth)
}

func (y *yamlTree) object(n *yaml.Node, at *place, depth int) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		k, err := y.value(name, at, depth+1)
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok || name.Value == "<<" && name.Style == 0 {
			y.fail(at.member(name.Value), "a key must be a text", "quote it")
			continue
		}
		v, err := y.value(value, at.member(key), depth+1)
		if err != nil {
			return nil, err
		}
		y.put(out, at, key, v)
	}
	return out, nil
}

func (y *yamlTree) list(n *yaml.Node, at *place, depth int) (any, error) {
	out := make([]any, 0, len(n.Content))
	for i, item := range n.Content {
		v, err := y.value(item, at.item(i), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func (y *yamlTree) scalar(n *yaml.Node, at *place) (any, error) {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		return y.tagged(n, at)
	case n.Style&quoted != 0:
		return n.Value, nil
	}
	return y.plain(n.Value, at), nil
}

// tagged reads a scalar with one of the core tags.
func (y *yamlTree) tagged(n *yaml.Node, at *place) (any, error) {
	tag := n.ShortTag()
	if tag == "!!str" {
		return n.Value, nil
	}
	v := y.plain(n.Value, at)
	_, isInt := v.(int64)
	_, isFloat := v.(float64)
	_, isBool := v.(bool)
	switch {
	case tag == "!!int" && isInt, tag == "!!bool" && isBool, tag == "!!null" && v == nil, tag == "!!float" && (isFloat || isInt):
		return v, nil
	}
	return nil, fmt.Errorf("%s: the tag %s is not supported here", at, tag)
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
