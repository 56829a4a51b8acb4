package definition

import (
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

const (
	componentFields = "after, condition, context, else, expr, in, input, params, policy, queue, sleep, step, when"
	kindFields      = "step, expr, condition or sleep"
)

// later are kinds and fields of the workflow model that this version does not have.
var later = map[string]bool{
	"rule": true, "map": true, "reduce": true, "loop": true, "accumulate": true, "state_machine": true, "fsm": true,
	"aggregate": true, "saga": true, "process_manager": true, "workflow": true, "until": true, "idle_for": true,
	"signal": true, "emit": true, "respond": true,
	"first": true, "catch": true, "compensate": true, "allow": true, "do": true, "with": true, "init": true, "of": true,
	"parallel": true, "tolerate": true, "partial": true, "max": true, "keep": true, "next": true, "state": true,
	"reactors": true, "states": true, "events": true, "steps": true, "complete": true, "abort": true, "parent_close": true,
	"key": true, "schema": true, "timeout": true, "remind": true, "count": true, "any_of": true, "all_of": true, "then": true,
}

func (r *reader) components(v any) []*part {
	object := r.object("components", v, "write components: {name: {step: task}}")
	if len(object) > MaxComponents {
		r.fail("components", fmt.Sprintf("more than %d", MaxComponents), "split the workflow")
		return nil
	}
	parts := make([]*part, 0, len(object))
	for _, name := range sortedKeys(object) {
		p := &part{path: join("components", name)}
		p.Name = name
		if !nameShape.MatchString(name) {
			r.fail(p.path, fmt.Sprintf("%q is no name", name), nameRule)
		}
		r.component(p, r.object(p.path, object[name], "write {step: task}"))
		parts = append(parts, p)
	}
	return parts
}

func (r *reader) component(p *part, object map[string]any) {
	if object == nil {
		return
	}
	r.kind(p, object)
	oneWiring := r.oneWiring(p, object)
	for _, field := range sortedKeys(object) {
		path, v := join(p.path, field), object[field]
		switch field {
		case "step":
			r.task(p, path, v)
		case "expr":
			p.Expr = r.program(path, v, expr.Compile)
		case "condition":
			p.Expr = r.program(path, v, expr.CompileCondition)
		case "sleep", "sleep_ms":
			r.sleep(p, path, v, field == "sleep_ms")
		case "when":
			p.When = r.program(path, v, expr.CompileCondition)
		case "params", "input", "queue":
			r.stepField(p, field, path, v)
		case "policy":
			r.ownPolicy(p, path, v)
		case "context":
			r.context(p, path, v)
		case "after", "in", "else":
			if oneWiring {
				r.wiring(p, field, path, v)
			}
		default:
			r.unknown(path, field, componentFields)
		}
	}
	r.queue(p)
}

func (r *reader) unknown(path, field, known string) {
	if later[field] {
		r.fail(path, notSupported, "remove it")
		return
	}
	r.fail(path, "unknown field", policy.Known(field, known))
}

// kind finds the one field that says what the component does.
func (r *reader) kind(p *part, object map[string]any) {
	var found []string
	for _, k := range []struct {
		field string
		kind  Kind
	}{{"step", Step}, {"expr", Expr}, {"condition", Condition}, {"sleep", Sleep}, {"sleep_ms", Sleep}} {
		if _, ok := object[k.field]; ok {
			found = append(found, k.field)
			p.Kind = k.kind
		}
	}
	switch {
	case len(found) > 1:
		r.fail(p.path, "is both "+strings.Join(found, " and "), "keep one, and make the other a component of its own")
	case len(found) == 0 && !hasLaterKind(object):
		r.fail(p.path, "has no kind", "give it "+kindFields)
	}
}

// hasLaterKind reports whether the missing kind is explained by a field that is refused anyway.
func hasLaterKind(object map[string]any) bool {
	for _, field := range sortedKeys(object) {
		if later[field] {
			return true
		}
	}
	return false
}

func (r *reader) task(p *part, path string, v any) {
	if object, ok := v.(map[string]any); ok && object[dollar] != nil {
		r.fail(path, "a task chosen by an expression is "+notSupported, "name the task")
		return
	}
	p.Task = r.text(path, v, taskShape, taskRule)
}

// stepField reads a field that only a step has.
func (r *reader) stepField(p *part, field, path string, v any) {
	if p.Kind != Step {
		if p.Kind != 0 {
			r.fail(path, "only a step has "+field, "remove it")
		}
		return
	}
	switch field {
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

// queue gives a step the queue of its task, unless it names one.
func (r *reader) queue(p *part) {
	if p.Kind != Step || p.Queue != "" {
		return
	}
	p.Queue = events.QueueOf(p.Task)
	if err := policy.CheckQueue(p.Queue); err != nil && p.Task != "" {
		r.fail(join(p.path, "step"), fmt.Sprintf("the task's queue would be %q, which is no name of a queue", p.Queue), "give a queue")
	}
}

func (r *reader) sleep(p *part, path string, v any, millis bool) {
	p.Sleep.Millis = millis
	if program, is := r.computed(under(path), v); is {
		p.Sleep.Expr = program
		return
	}
	d, err := policy.DurationOf(v, millis)
	if err == nil && (d < 0 || d > policy.MaxDuration) {
		err = fmt.Errorf("must be from 0 to %s", policy.MaxDuration)
	}
	if err != nil {
		r.fail(path, err.Error(), "")
	}
	p.Sleep.Fixed = d
}

func (r *reader) ownPolicy(p *part, path string, v any) {
	rule, err := policy.RuleOf(v, path)
	r.take(err)
	if err != nil {
		return
	}
	p.Rules = []policy.Rule{rule}
}

func (r *reader) context(p *part, path string, v any) {
	object := r.object(path, v, "write context: {factor: 2}")
	for _, name := range sortedKeys(object) {
		b, err := expr.Append(nil, object[name])
		if err != nil {
			r.fail(join(path, name), err.Error(), "")
			return
		}
		p.context = append(p.context, field{name, b})
	}
	if object == nil {
		return
	}
	b, err := expr.Append(nil, object)
	if err != nil {
		r.fail(path, err.Error(), "")
	}
	p.Context = b
}

// params reads the parameters of a step.
func (r *reader) params(path string, v any) *Params {
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
func (r *reader) template(at *place, v any) (_ any, dynamic bool) {
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
