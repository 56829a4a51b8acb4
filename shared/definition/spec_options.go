package definition

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

const optionFields = "checkpoint, close, drain, keep, labels, max_concurrency, on_complete, on_failure, retain, signal_ttl"

// ParseOptions reads the options given with a workflow. path is where they stand, for errors. Its error is Errors.
func ParseOptions(raw json.RawMessage, path string) (Options, error) {
	v, err := expr.Decode(raw)
	if err != nil {
		return Options{}, Errors{{Path: path, Message: err.Error()}}
	}
	r := decoder{}
	o := r.options(v, path)
	if r.errs != nil {
		return Options{}, r.errs
	}
	return o, nil
}

func (r *decoder) options(v any, path string) (o Options) {
	object := r.object(path, v, "write options: {max_concurrency: 16}")
	for _, field := range sortedKeys(object) {
		at, v := join(path, field), object[field]
		switch field {
		case "max_concurrency":
			o.MaxConcurrency = r.count(at, v, maxConcurrency)
		case "checkpoint":
			o.Checkpoint = r.checkpoint(at, v)
		case "close":
			o.Close = oneOf(r, at, v, map[string]Close{"never": Never, "on_idle": OnIdle})
		case "drain", "drain_ms":
			if o.Drain != nil {
				r.fail(at, "given twice, with and without _ms", "keep one")
			}
			o.Drain = r.span(at, v, field == "drain_ms", 0)
		case "signal_ttl":
			o.SignalTTL = r.span(at, v, false, time.Millisecond)
		case "on_failure":
			reaction := oneOf(r, at, v, map[string]policy.OnFailure{"halt": policy.Halt, "skip": policy.Skip})
			o.OnFailure = &reaction
		case "on_complete":
			o.Completion = r.completion(at, v)
		case "keep":
			o.KeepFacts = r.keep(at, v)
		case "retain":
			o.Retain = r.retain(at, v)
		case "labels":
			o.Labels = r.labels(at, v)
		default:
			r.fail(at, "unknown option", policy.Known(field, optionFields))
		}
	}
	return o
}

// keep reads how many facts are kept.
func (r *decoder) keep(path string, v any) int {
	object := r.object(path, v, "write keep: {facts: 1000}")
	for _, field := range sortedKeys(object) {
		if field != "facts" {
			r.fail(join(path, field), "unknown field", policy.Known(field, "facts"))
		}
	}
	if object == nil {
		return 0
	}
	n, given := object["facts"]
	if !given {
		r.fail(join(path, "facts"), "missing", "write keep: {facts: 1000}")
		return 0
	}
	return r.count(join(path, "facts"), n, maxKept)
}

func (r *decoder) count(path string, v any, most int64) int {
	n, ok := expr.Integer(v)
	if !ok || n < 1 || n > most {
		r.fail(path, fmt.Sprintf("must be an integer from 1 to %d", most), "")
		return 1
	}
	return int(n)
}

// checkpoint reads a strategy: its name, or {every_n: k}.
func (r *decoder) checkpoint(path string, v any) Checkpoint {
	if object, ok := v.(map[string]any); ok && len(object) == 1 {
		if n, has := object["every_n"]; has {
			return Checkpoint{EveryN, r.count(path+".every_n", n, maxConcurrency)}
		}
	}
	strategies := map[string]Strategy{"every_cycle": EveryCycle, "on_complete": OnComplete, "manual": Manual}
	name, _ := v.(string)
	s, ok := strategies[name]
	if !ok {
		r.fail(path, "unknown strategy "+show(v), "write every_cycle, on_complete, manual or {every_n: 10}")
	}
	return Checkpoint{Strategy: s}
}

func (r *decoder) span(path string, v any, millis bool, least time.Duration) *time.Duration {
	d, err := policy.DurationOf(v, millis)
	if err == nil && (d < least || d > policy.MaxDuration) {
		err = fmt.Errorf("must be from %s to %s", least, policy.Longest)
	}
	if err != nil {
		r.fail(path, err.Error(), "")
	}
	return &d
}

func (r *decoder) labels(path string, v any) []Label {
	object := r.object(path, v, `write labels: {team: sales, customer: {"$": "input.customer"}}`)
	if len(object) > maxLabels {
		r.fail(path, fmt.Sprintf("more than %d labels", maxLabels), "")
	}
	var out []Label
	for _, name := range sortedKeys(object) {
		at, l := join(path, name), Label{Name: name}
		if !definitionShape.MatchString(name) {
			r.fail(at, fmt.Sprintf("%q is no name of a label", name), labelRule)
		}
		if p, is := r.computed(under(at), object[name]); is {
			l.Expr = p
		} else {
			l.Literal = r.literalLabel(at, name, object[name])
		}
		out = append(out, l)
	}
	return out
}

func (r *decoder) literalLabel(path, name string, v any) string {
	switch v.(type) {
	case []any, map[string]any, nil:
		r.fail(path, "must be a text, a number, a boolean or an expression", expressionShape)
		return ""
	}
	s, err := labelText(name, v)
	if err != nil {
		r.fail(path, err.Error(), "")
	}
	return s
}

func oneOf[T any](r *decoder, path string, v any, of map[string]T) T {
	name, _ := v.(string)
	t, ok := of[name]
	if !ok {
		r.fail(path, show(v)+" is "+notSupported, "known are "+joinNames(sortedKeys(of)))
	}
	return t
}
