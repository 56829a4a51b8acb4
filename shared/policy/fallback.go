package policy

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
)

// Form is how a fallback finds what takes the place of a result.
type Form uint8

// The forms. Values are recorded.
const (
	FallbackValue Form = 1 // a literal
	FallbackExpr  Form = 2 // an expression
	FallbackTask  Form = 3 // one attempt of another task
	FallbackRetry Form = 4 // one more attempt, with more context
)

// forms are the names of the forms in rules.
var forms = [...]string{FallbackValue: "value", FallbackExpr: "expr", FallbackTask: "task", FallbackRetry: "retry_with"}

// String is the name of a form in rules; empty: there is none.
func (f Form) String() string { return forms[min(f, FallbackRetry)] }

// Attempts reports whether a form takes an attempt, which workers run.
func (f Form) Attempts() bool { return f == FallbackTask || f == FallbackRetry }

// Fallback is what follows once no attempt is left, before the failure takes effect.
type Fallback struct {
	Form    Form
	Value   json.RawMessage // FallbackValue
	Expr    string          // FallbackExpr; compiled as one that SeesBoth
	Other   Other           // FallbackTask
	Context json.RawMessage // FallbackRetry: an object, laid over the context
}

// Other is another task than a component's own.
type Other struct {
	Task  string
	Queue string // empty = that of the component
}

// Limits of fallbacks.
const (
	MaxFallback = 16 << 10 // bytes of JSON: it is recorded with each runnable
)

// TaskShape is what the name of a task looks like, and TaskRule says so.
var TaskShape = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._:/-]{0,254}$`)

// TaskRule is TaskShape in words.
const TaskRule = "letters, digits, '.', '_', '-', ':' and '/', at most 255"

// recordedFallback is a fallback as rules and policies have it: one of the forms.
type recordedFallback struct {
	Value     json.RawMessage `json:"value"`
	Expr      string          `json:"expr"`
	Task      string          `json:"task"`
	Queue     string          `json:"queue"`
	RetryWith json.RawMessage `json:"retry_with"`
}

// ParseFallback reads the text that a Policy has of its fallback; an empty one has the form 0.
func ParseFallback(text string) (Fallback, error) {
	if text == "" {
		return Fallback{}, nil
	}
	var r recordedFallback
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Fallback{}, fmt.Errorf("recorded fallback is damaged: %w", err)
	}
	switch {
	case r.Task != "":
		return Fallback{Form: FallbackTask, Other: Other{r.Task, r.Queue}}, nil
	case r.Expr != "":
		return Fallback{Form: FallbackExpr, Expr: r.Expr}, nil
	case r.RetryWith != nil:
		return Fallback{Form: FallbackRetry, Context: r.RetryWith}, nil
	}
	if r.Value == nil {
		r.Value = json.RawMessage("null")
	}
	return Fallback{Form: FallbackValue, Value: r.Value}, nil
}

// valueFallback reports whether a fallback is one that needs no attempt.
func valueFallback(text string) bool {
	f, err := ParseFallback(text)
	return err == nil && f.Form != 0 && !f.Form.Attempts()
}

func fallbackField() field {
	f := text("fallback", func(p *Policy) *string { return &p.Fallback })
	f.schema = reference("fallback")
	f.read = func(r *decoder, to *Policy, at string, v any, _ bool) { to.Fallback = r.fallback(at, v) }
	return f
}

// fallback reads one of {value: …}, {expr: …}, {task: …, queue: …} and {retry_with: {…}}.
func (p *decoder) fallback(at string, v any) string {
	const fix = "write one of {value: 0}, {expr: 'input.n'}, {task: orders.guess} and {retry_with: {model: small}}"
	object, ok := v.(map[string]any)
	form, fields := Form(0), 0
	for f := FallbackValue; f <= FallbackRetry; f++ {
		if _, has := object[f.String()]; has {
			form = f
			fields++
		}
	}
	if ok && fields == 0 && len(object) > 0 {
		for _, name := range sorted(object) {
			p.fail(at+"."+name, "unknown field", Known(name, "expr, retry_with, task, value"))
		}
		return ""
	}
	if !ok || fields != 1 {
		p.fail(at, "must be an object with one of value, expr, task and retry_with", fix)
		return ""
	}
	at += "." + form.String()
	switch v := object[form.String()]; form {
	case FallbackExpr:
		if p.program(at, v, func(src string) (*expr.Program, error) { return Compile(SeesBoth, src) }) == nil {
			return ""
		}
	case FallbackTask:
		p.other(strings.TrimSuffix(at, ".task"), "task", object)
		fields = len(object)
	case FallbackRetry:
		if context, ok := v.(map[string]any); !ok || len(context) == 0 {
			p.fail(at, "must be an object of values of the context, with one at least", "write retry_with: {model: small}")
		}
	default: // any value
	}
	if len(object) > fields {
		p.fail(at, "stands with other fields, which belong to another form", fix)
	}
	b, err := expr.Append(nil, object)
	if err == nil && len(b) > MaxFallback {
		err = fmt.Errorf("the fallback has %d bytes, the limit is %d", len(b), MaxFallback)
	}
	if err != nil {
		p.fail(at, err.Error(), "")
		return ""
	}
	return string(b)
}

// other reads {FIELD: TASK, queue: QUEUE}, whose queue is optional.
func (p *decoder) other(at, field string, object map[string]any) Other {
	var o Other
	for _, name := range sorted(object) {
		switch at, v := at+"."+name, object[name]; name {
		case field:
			o.Task, _ = v.(string)
			if !TaskShape.MatchString(o.Task) {
				p.fail(at, "must be the name of a task: "+TaskRule, "")
			}
		case "queue":
			o.Queue = p.queue(at, v)
		default:
			p.fail(at, "unknown field", Known(name, field+", queue"))
		}
	}
	return o
}

// onLosts are the reactions to a loss that are a word.
var onLosts = []string{RetryLost: "retry", FailLost: "fail", HoldLost: "hold"}

// onLostField is the field on_lost: a word, or {probe: TASK, queue: QUEUE}. It is recorded as a number, behind which a
// probe has its texts.
func onLostField() field {
	f := choice("on_lost", func(p *Policy) *OnLost { return &p.OnLost }, onLosts)
	word := f.read
	f.schema = map[string]any{"anyOf": []any{f.schema, reference("probe")}}
	f.read = func(r *decoder, to *Policy, at string, v any, ms bool) {
		to.Probe = Other{}
		object, ok := v.(map[string]any)
		if !ok {
			before := len(r.errs)
			word(r, to, at, v, ms)
			if len(r.errs) > before {
				r.errs[before].Fix += "; a task is asked with {probe: bank.lookup}"
			}
			return
		}
		if object["probe"] == nil {
			r.fail(at+".probe", "missing", "write on_lost: {probe: bank.lookup}")
		}
		to.OnLost, to.Probe = ProbeLost, r.other(at, "probe", object)
	}
	f.copy = func(to, from *Policy) { to.OnLost, to.Probe = from.OnLost, from.Probe }
	f.same = func(a, b *Policy) bool { return a.OnLost == b.OnLost && a.Probe == b.Probe }
	f.append = func(b []byte, p *Policy) []byte {
		b = append(b, byte(p.OnLost))
		if p.OnLost != ProbeLost {
			return b
		}
		for _, s := range []string{p.Probe.Task, p.Probe.Queue} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
		return b
	}
	f.parse = func(p *Policy, b []byte) ([]byte, bool) {
		if len(b) == 0 || b[0] > byte(ProbeLost) {
			return nil, false
		}
		p.OnLost, b = OnLost(b[0]), b[1:]
		whole := true
		if p.OnLost == ProbeLost {
			for _, to := range []*string{&p.Probe.Task, &p.Probe.Queue} {
				if *to, b, whole = parseText(b); !whole {
					return nil, false
				}
			}
		}
		return b, whole
	}
	return f
}

// Others are the other tasks that attempts under a policy may be of, besides the component's own.
func (p *Policy) Others() []Other {
	var all []Other
	if p.OnLost == ProbeLost {
		all = append(all, p.Probe)
	}
	if f, err := ParseFallback(p.Fallback); err == nil && f.Form == FallbackTask {
		all = append(all, f.Other)
	}
	return all
}

// Others are the other tasks that a rule gives.
func (r *Rule) Others() []Other { return r.fields.values.Others() }
