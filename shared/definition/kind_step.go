package definition

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

var stepKind = kind{
	fields: properties{{"step", `{"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9._:/-]{0,254}$", "description": "The task to run."}`}},
	own: properties{
		{"input", `{"$ref": "#/$defs/expression", "description": "Shapes the value for the task."}`},
		{"params", `{"type": "object", "description": "Literals; an object {\"$\": \"expression\"} stands for its value."}`},
		{"queue", `{"$ref": "#/$defs/queue"}`},
	},
	read:    (*decoder).step,
	whole:   (*decoder).queue,
	check:   (*builder).checkStep,
	shape:   [2]string{"[", "]"},
	example: "{step: orders.price, params: {currency: EUR}}",
}

func (r *decoder) step(p *part, field, path string, v any) {
	switch field {
	case "step":
		r.task(p, path, v)
	case "params":
		p.Params = r.params(path, v)
	case "input":
		p.Input = r.program(path, v, expr.Compile)
	case "queue":
		s, _ := v.(string)
		if err := policy.CheckQueue(s); err != nil {
			r.fail(path, err.Error(), "")
		}
		p.Queue = s
	}
}

func (r *decoder) task(p *part, path string, v any) {
	if object, ok := v.(map[string]any); ok && object[dollar] != nil {
		r.fail(path, "a task chosen by an expression is "+notSupported, "name the task")
		return
	}
	p.Task = r.text(path, v, taskShape, taskRule)
}

// queue gives a step the queue of its task, unless it names one.
func (r *decoder) queue(p *part) { r.queueOf(p, join(p.path, "step")) }

func (r *decoder) queueOf(p *part, path string) {
	if p.Queue != "" {
		return
	}
	p.Queue = events.QueueOf(p.Task)
	if err := policy.CheckQueue(p.Queue); err != nil && p.Task != "" {
		r.fail(path, fmt.Sprintf("the task's queue would be %q, which is no name of a queue", p.Queue), "give a queue")
	}
}

// params reads the parameters of a step.
func (r *decoder) params(path string, v any) *Params {
	object := r.object(path, v, `write params: {url: "…", body: {"$": "input"}}`)
	if _, whole := object[dollar]; whole {
		r.fail(path, "params cannot be one expression", "give each parameter, or shape the value with input")
		return nil
	}
	params := &Params{}
	for i, name := range sortedKeys(object) {
		at := join(path, name)
		tree, dynamic := r.template(under(at), object[name])
		f := field{name: name}
		if dynamic {
			params.exprs = append(params.exprs, computedPart{i, tree})
		} else if b, err := expr.Append(nil, tree); err != nil {
			r.fail(at, err.Error(), "")
		} else {
			f.value = b
		}
		params.fields = append(params.fields, f)
	}
	return params
}

// template compiles the expressions in a literal; dynamic tells whether there are any.
func (r *decoder) template(at *place, v any) (_ any, dynamic bool) {
	if p, is := r.computed(at, v); is {
		return p, true
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			part, is := r.template(at.item(i), v[i])
			out[i], dynamic = part, dynamic || is
		}
		return out, dynamic
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range sortedKeys(v) {
			part, is := r.template(at.member(k), v[k])
			out[k], dynamic = part, dynamic || is
		}
		return out, dynamic
	}
	return v, false
}

func (b *builder) checkStep(p *part, input *expr.Type) {
	b.check(p.Input, input, p.path+".input")
	if p.Params == nil {
		return
	}
	for _, part := range p.Params.exprs {
		b.checkTree(part.tree, input, under(p.path+".params").member(p.Params.fields[part.index].name))
	}
}
