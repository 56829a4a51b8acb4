package definition

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/heddle-run/heddle/shared/expr"
)

// Each is what a map does with the elements of its list.
type Each struct {
	Body     []Edge // to the components of its body, from the element and from what is captured; sorted
	Captures []Arm  // what the body takes from outside: it waits for them as for arms behind its own
	Folds    []int  // reduces over components of its body, ascending
	Parallel int    // elements that are worked on at a time; 0 = as many as attempts may be open
	Tolerate Tolerance
}

// Tolerance is how many elements may fail.
type Tolerance struct {
	Count   int
	Percent int // of the elements, in place of Count
}

// Of is how many of n elements may fail.
func (t Tolerance) Of(n int) int { return t.Count + n*t.Percent/100 }

var mapKind = kind{
	evaluated: true,
	fields:    properties{{"map", `{"$ref": "#/$defs/expression", "description": "Its value is a list; the body runs for each element."}`}},
	own: properties{
		{"do", `{"type": "object", "minProperties": 1, "propertyNames": {"$ref": "#/$defs/name"}, "additionalProperties": {"$ref": "#/$defs/component"}, "description": "The body: components by name."}`},
		{"parallel", `{"type": "integer", "minimum": 1, "maximum": 1000000, "description": "How many elements are worked on at a time."}`},
		{"tolerate", `{"anyOf": [{"type": "integer", "minimum": 0, "maximum": 1000000}, {"type": "string", "pattern": "^(100|[0-9]{1,2})%$"}], "description": "How many elements may fail."}`},
	},
	read: (*decoder).mapField,
	whole: func(r *decoder, p *part) {
		if p.body == nil && !r.failedAt(join(p.path, "do")) {
			r.fail(join(p.path, "do"), "missing", "a map has a body: do: {name: {step: task}}")
		}
	},
	check: func(b *builder, p *part, input *expr.Type) {
		b.check(p.Expr, input, p.path+".map")
	},
	shape:   [2]string{"[[", "]]"},
	example: "{map: input.lines, do: {price: {step: orders.price}}}",
}

var percentShape = regexp.MustCompile(`^(100|[0-9]{1,2})%$`)

func (r *decoder) mapField(p *part, field, path string, v any) {
	if p.Each == nil {
		p.Each = &Each{}
	}
	switch field {
	case "map":
		p.Expr = r.program(path, v, expr.Compile)
	case "do":
		p.body = r.object(path, v, "write do: {name: {step: task}}")
		if p.body != nil && len(p.body) == 0 {
			r.fail(path, "names no component", "write do: {name: {step: task}}")
		}
	case "parallel":
		p.Each.Parallel = r.count(path, v, maxConcurrency)
	case "tolerate":
		p.Each.Tolerate = r.tolerance(path, v)
	}
}

// tolerance reads how many elements may fail.
func (r *decoder) tolerance(path string, v any) (t Tolerance) {
	if s, ok := v.(string); ok && percentShape.MatchString(s) {
		t.Percent, _ = strconv.Atoi(s[:len(s)-1])
		return t
	}
	n, ok := expr.Integer(v)
	if !ok || n < 0 || n > maxConcurrency {
		r.fail(path, fmt.Sprintf("must be an integer from 0 to %d, or a share of the elements from 0%% to 100%%", maxConcurrency), `write a number, or "5%"`)
	}
	t.Count = int(n)
	return t
}
