package definition

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// spec is a definition with its fields read and its expressions compiled, before the components are connected.
type spec struct {
	name, version string
	components    []*part // sorted by name
	outputs       []outputSpec
	options       Options
	rules         []policy.Rule
	input         *inputSchema
	context       runContext
}

// part is a component with its wiring by name.
type part struct {
	Component
	path   string
	arms   []armSpec
	within *part          // the map in whose body it is; nil: in none
	body   map[string]any // components by name; nil: it has none
	own    *part          // a component that is a part of this one

	conditions []armSpec // named ones of a rule
	reactors   []*part   // of a state machine
	count      int       // of first; 0: not given
	countPath  string
}

type armSpec struct {
	path, parent string
	name         string
	optional     bool
}

type outputSpec struct{ path, name, component string }

// decoder reads fields and collects what is wrong.
type decoder struct {
	errs     Errors
	patterns int // instructions of the regular expressions so far
	parts    []*part
}

func (r *decoder) fail(path, message, fix string) {
	r.errs = collect(r.errs, Error{Path: path, Message: message, Fix: fix})
}

const (
	topFields       = "components, context, input, name, options, outputs, policies, version"
	notSupported    = "not supported by this version"
	maxName         = 128
	maxVersion      = 64
	maxTask         = 255
	nameRule        = "letters, digits, '_' and '-', beginning with a letter or '_', at most 128"
	definitionRule  = "letters, digits, '.', '_', '-' and '/', at most 128"
	taskRule        = policy.TaskRule
	labelRule       = "letters, digits, '.', '_', '-' and '/', at most 128"
	maxLabels       = 64
	maxConcurrency  = 1_000_000
	maxKept         = 1_000_000_000
	dollar          = "$"
	expressionShape = `write {"$": "expression"}`
)

var (
	nameShape       = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)
	definitionShape = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]{0,127}$`)
	taskShape       = policy.TaskShape
)

func (r *decoder) definition(root map[string]any) *spec {
	s := &spec{}
	for _, field := range sortedKeys(root) {
		v := root[field]
		switch field {
		case "name":
			s.name = r.text(field, v, definitionShape, definitionRule)
		case "version":
			s.version = r.version(v)
		case "input":
			s.input = r.input(v)
		case "context":
			s.context = r.runContext(v)
		case "components":
			s.components = r.components(v)
		case "outputs":
			s.outputs = r.outputs(v)
		case "policies":
			s.rules = r.policies(v, field)
		case "options":
			s.options = r.options(v, field)
		default:
			r.fail(field, "unknown field", policy.Known(field, topFields))
		}
	}
	for _, field := range []string{"components", "name"} {
		if _, ok := root[field]; !ok {
			r.fail(field, "missing", "every definition has a name and components (which may be empty)")
		}
	}
	r.neverMissing(s)
	shareContexts(s.components)
	return s
}

// text reads a text of a given shape.
func (r *decoder) text(path string, v any, shape *regexp.Regexp, rule string) string {
	s, ok := v.(string)
	if !ok || !shape.MatchString(s) {
		r.fail(path, fmt.Sprintf("%s is not allowed", show(v)), "a text of "+rule)
	}
	return s
}

func (r *decoder) version(v any) string {
	s, ok := v.(string)
	switch {
	case !ok:
		r.fail("version", "must be a text", fmt.Sprintf("quote it: %q", show(v)))
	case s == "" || len(s) > maxVersion:
		r.fail("version", fmt.Sprintf("must have 1 to %d bytes", maxVersion), "")
	}
	return s
}

// object reads an object; nil if it is none.
func (r *decoder) object(path string, v any, fix string) map[string]any {
	object, ok := v.(map[string]any)
	switch {
	case v == nil:
		r.fail(path, "must be an object, and is empty", "what belongs to it is indented below it; "+fix)
	case !ok:
		r.fail(path, "must be an object", fix)
	}
	return object
}

func (r *decoder) input(v any) *inputSchema {
	object := r.object("input", v, "write input: {schema: {type: object}}")
	for _, field := range sortedKeys(object) {
		if field != "schema" {
			r.fail(join("input", field), "unknown field", policy.Known(field, "schema"))
		}
	}
	raw, ok := object["schema"]
	if !ok {
		if object != nil {
			r.fail("input.schema", "missing", "write input: {schema: {type: object}}")
		}
		return nil
	}
	return r.schema("input.schema", raw)
}

// schema reads a JSON Schema; nil if it is none.
func (r *decoder) schema(path string, raw any) *inputSchema {
	schema, err := compileSchema(raw)
	if err != nil {
		for _, e := range notSchema(err, path) {
			r.fail(e.Path, "is no JSON Schema: "+e.Message, "")
		}
		return nil
	}
	return &inputSchema{schema: schema, raw: raw, defaults: hasDefaults(raw)}
}

func (r *decoder) outputs(v any) []outputSpec {
	object := r.object("outputs", v, "write outputs: {invoice: invoice}")
	out := make([]outputSpec, 0, len(object)) // not nil: an empty object declares that there are none
	for _, name := range sortedKeys(object) {
		path := join("outputs", name)
		if !nameShape.MatchString(name) {
			r.fail(path, fmt.Sprintf("%q is no name", shortened(name)), nameRule)
		}
		component, ok := object[name].(string)
		if !ok {
			r.fail(path, "must be the name of a component", "")
			continue
		}
		out = append(out, outputSpec{path, name, component})
	}
	return out
}

func (r *decoder) policies(v any, path string) []policy.Rule {
	rules, err := policy.RulesOf(v, path)
	r.take(err)
	return rules
}

// take adds the errors of another decoder.
func (r *decoder) take(err error) {
	switch err := err.(type) {
	case nil:
	case Errors:
		r.errs = collect(r.errs, err...)
	default:
		panic("definition: an error without path: " + err.Error())
	}
}

func (r *decoder) program(path string, v any, compile func(string) (*expr.Program, error)) *expr.Program {
	src, ok := v.(string)
	if !ok || strings.TrimSpace(src) == "" {
		fix := "write it as a text; quote true, false, null and numbers"
		if object, is := v.(map[string]any); is && object[dollar] != nil {
			fix = fmt.Sprintf("write it as a text, without %q: this is always one", dollar)
		}
		r.fail(path, "must be an expression", fix)
		return nil
	}
	if r.patterns > MaxPatterns { // that is said already
		return nil
	}
	p, err := compile(src)
	if err != nil {
		r.fail(path, err.Error(), "")
		return nil
	}
	if r.patterns += p.PatternSize(); r.patterns > MaxPatterns {
		r.fail(path, fmt.Sprintf("regular expressions of more than %d instructions in one definition", MaxPatterns), "repeat less in them")
	}
	return p
}

// computed tells {"$": "expression"} from a literal. An object with "$" and more is neither.
func (r *decoder) computed(at *place, v any) (p *expr.Program, is bool) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	src, has := object[dollar]
	if !has {
		return nil, false
	}
	if len(object) > 1 {
		r.fail(at.String(), `an object with "$" can have no other field`, expressionShape)
		return nil, true
	}
	return r.program(at.member(dollar).String(), src, expr.Compile), true
}

func show(v any) string {
	b, err := expr.Append(nil, v)
	if err != nil || len(b) > 80 {
		return "this value"
	}
	return string(b)
}
