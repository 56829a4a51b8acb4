package definition

import (
	"encoding/json"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// Folding is how a reduce makes one value of many.
type Folding struct {
	With    *expr.Program // over acc, item and index; nil = the component's task
	Until   *expr.Program // over the new acc, item and index; nil = to the end
	Init    json.RawMessage
	Partial bool // elements that have failed are left out, however many
	Errors  bool // its value is an object with the value and the errors of elements that were left out
	Over    int  // the map whose results it folds; -1: a list
}

var reduceKind = kind{
	evaluated: true,
	fields:    properties{{"reduce", `{"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,127}(\\.[A-Za-z_][A-Za-z0-9_-]{0,127})?$", "description": "MAP.NAME, a component in the body of a map; or a component whose value is a list."}`}},
	own: properties{
		{"with", `{"anyOf": [{"$ref": "#/$defs/expression"}, {"type": "object", "required": ["step"], "additionalProperties": false, "properties": {"step": {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9._:/-]{0,254}$"}, "queue": {"$ref": "#/$defs/queue"}}}], "description": "What is made of acc, item and index."}`},
		{"init", `{"description": "What acc is for the first item."}`},
		{"until", `{"$ref": "#/$defs/expression", "description": "Where it is true of acc, item and index, the rest is not folded."}`},
		{"partial", `{"type": "boolean", "description": "Elements that have failed are left out."}`},
		{"errors", `{"type": "boolean", "description": "The value is {value, errors: [{index, error}]}."}`},
	},
	read:  (*decoder).reduceField,
	whole: (*decoder).reduceWhole,
	check: func(b *builder, p *part, _ *expr.Type) {
		b.check(p.Fold.With, nil, join(p.path, "with"))
		b.check(p.Fold.Until, nil, join(p.path, "until"))
	},
	fed:     true,
	shape:   [2]string{"[\\", "/]"},
	example: `{reduce: input, init: 0, with: "acc + item"}`,
}

func (r *decoder) reduceField(p *part, field, path string, v any) {
	switch field {
	case "reduce":
		name, ok := v.(string)
		if !ok || name == "" {
			r.fail(path, "must name what is folded", "write MAP.NAME, a component in the body of a map, or a component whose value is a list")
			return
		}
		p.Join = Single
		if strings.Contains(name, ".") {
			p.Join = Fold
		}
		r.arm(p, path, "", name, false)
	case "with":
		r.with(p, path, v)
	case "init":
		if b := r.literal(path, v, "for a computed one, write with: (acc ?? …)"); b != nil {
			p.folding().Init = b
		}
	case "until":
		p.folding().Until = r.program(path, v, expr.CompileReducerCondition)
	case "partial":
		p.folding().Partial = r.truth(path, v)
	case "errors":
		p.folding().Errors = r.truth(path, v)
	}
}

func (p *part) folding() *Folding {
	if p.Fold == nil {
		p.Fold = &Folding{Init: json.RawMessage("null"), Over: -1}
	}
	return p.Fold
}

// with reads what folds: an expression, or a task.
func (r *decoder) with(p *part, path string, v any) {
	object, ok := v.(map[string]any)
	if !ok {
		p.folding().With = r.program(path, v, expr.CompileReducer)
		return
	}
	for _, field := range sortedKeys(object) {
		at := join(path, field)
		switch field {
		case "step":
			r.task(p, at, object[field])
		case "queue":
			r.step(p, field, at, object[field])
		default:
			r.fail(at, "unknown field", policy.Known(field, "queue, step"))
		}
	}
	if object["step"] == nil {
		r.fail(path, "names no task", "write with: {step: task}, or an expression")
		return
	}
	if p.Task != "" {
		r.queue(p)
	}
}

func (r *decoder) reduceWhole(p *part) {
	if p.folding().With == nil && p.Task == "" && !r.failedAt(join(p.path, "with")) {
		r.fail(join(p.path, "with"), "missing", `say what is made of acc and item: with: "acc + item"`)
	}
	if p.Join == Fold && p.When != nil {
		r.fail(join(p.path, "when"), "nothing arrives before it is folded", "give it to a component in the body, or behind")
	}
}

// failedAt reports whether something is known to be wrong at a path, or within it.
func (r *decoder) failedAt(path string) bool {
	for _, e := range r.errs {
		if strings.HasPrefix(e.Path, path) {
			return true
		}
	}
	return false
}

func (r *decoder) truth(path string, v any) bool {
	b, ok := v.(bool)
	if !ok {
		r.fail(path, "must be true or false", "")
	}
	return b
}
