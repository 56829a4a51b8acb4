package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
)

// MaxRules bounds the rules of one list.
const MaxRules = 1000

// MaxErrors bounds what is said at once of what is wrong.
const MaxErrors = 100

// ParseRules reads a list of rules: [{match: …, max_retries: 3}, …]. path is where the list stands, for errors. Its
// error is Errors with everything that is wrong: an unknown field or one that is not enforced is refused, never ignored.
func ParseRules(raw json.RawMessage, path string) ([]Rule, error) {
	v, err := expr.Decode(raw)
	if err != nil {
		return nil, Errors{{Path: path, Message: err.Error()}}
	}
	return RulesOf(v, path)
}

// RulesOf is ParseRules for a value as expr.Decode gives it.
func RulesOf(v any, path string) ([]Rule, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, Errors{{Path: path, Message: "must be a list of rules", Fix: "write [{match: …, max_retries: 3}]"}}
	}
	if len(list) > MaxRules {
		return nil, Errors{{Path: path, Message: fmt.Sprintf("more than %d rules", MaxRules)}}
	}
	var errs Errors
	rules := make([]Rule, 0, len(list))
	patterns := 0
	for i, item := range list {
		p := decoder{path: fmt.Sprintf("%s[%d]", path, i)}
		rules = append(rules, p.rule(item, true))
		errs = append(errs, p.errs[:min(len(p.errs), MaxErrors-len(errs))]...)
		if patterns += p.patterns; patterns > expr.MaxPattern {
			return nil, Errors{{Path: p.path, Message: fmt.Sprintf("regular expressions of more than %d instructions in one list", expr.MaxPattern), Fix: "repeat less in them"}}
		}
	}
	if errs != nil {
		return nil, errs
	}
	return rules, nil
}

// RuleOf reads the policy of one component: the fields of a rule without match, or the name of a preset.
func RuleOf(v any, path string) (Rule, error) {
	if name, ok := v.(string); ok {
		v = map[string]any{"preset": name}
	}
	p := decoder{path: path}
	r := p.rule(v, false)
	if p.errs != nil {
		return Rule{}, p.errs
	}
	return r, nil
}

// decoder reads one rule and collects what is wrong with it.
type decoder struct {
	path     string
	errs     Errors
	patterns int // instructions of the regular expressions so far
}

func (p *decoder) fail(at, message, fix string) {
	if len(p.errs) < MaxErrors {
		p.errs = append(p.errs, Error{Path: p.path + at, Message: message, Fix: fix})
	}
}

// advise gives the last thing that was wrong a fix, if it has none.
func (p *decoder) advise(fix string) {
	if last := len(p.errs) - 1; p.errs[last].Fix == "" {
		p.errs[last].Fix = fix
	}
}

func (p *decoder) rule(v any, matched bool) Rule {
	r := Rule{Path: p.path}
	object, ok := v.(map[string]any)
	if !ok {
		p.fail("", "a rule must be an object", "write {match: …, max_retries: 3}")
		return r
	}
	if _, has := object["match"]; matched && !has {
		p.fail(".match", "missing", "write match: default to match everything")
	}
	preset := fields{}
	for _, name := range sorted(object) {
		at, v := "."+name, object[name]
		switch name {
		case "match":
			if !matched {
				p.fail(at, "the policy of a component matches that component", "move it to policies to match others")
				break
			}
			p.match(&r, v)
		case "inherit":
			r.inherit = p.boolean(at, v)
		case "preset":
			preset = p.preset(at, v)
		default:
			if matched && isMatcher(name) && !HasField(name) {
				p.fail(at, "is a matcher", fmt.Sprintf("write match: {%s: …}", name))
				break
			}
			p.field(&r.fields, name, at, v)
		}
	}
	p.syncForSteps(&r, matched)
	r.fields.given = preset.fill(&r.fields.values, r.fields.given)
	if r.fields.given == 0 && len(p.errs) == 0 && !r.inherit {
		p.fail("", "gives no field", "give at least one, such as max_retries")
	}
	return r
}

// syncForSteps refuses execution_mode sync where the matchers tell that the rule is for steps. A rule that matches by
// name alone is left to Rule.Check, which knows the component.
func (p *decoder) syncForSteps(r *Rule, matched bool) {
	if r.fields.given&mode == 0 || r.fields.values.Mode != Sync || !matched {
		return
	}
	named := r.name != pattern{}
	forTasks := r.task != pattern{} || r.queue != pattern{}
	if forTasks || slices.Contains(r.kinds, KindStep) || r.kinds == nil && !named {
		p.fail(".execution_mode", "sync is not possible for a step", "use durable, or match only kinds that the planner evaluates")
	}
}

func (p *decoder) preset(at string, v any) fields {
	name, _ := v.(string)
	f, ok := presets[name]
	if !ok {
		p.fail(at, "unknown preset "+show(v), knownText(v, names(presets)))
	}
	return f
}

func (p *decoder) match(r *Rule, v any) {
	if v == "default" {
		return
	}
	object, ok := v.(map[string]any)
	if !ok || len(object) == 0 {
		p.fail(".match", "must be an object of matchers, or default", "write {name: charge}, {task: orders.price} or default")
		return
	}
	for _, name := range sorted(object) {
		at, v := ".match."+name, object[name]
		switch name {
		case "name":
			r.name = p.pattern(at, v)
		case "task":
			r.task = p.pattern(at, v)
		case "queue":
			r.queue = p.pattern(at, v)
		case "kind":
			r.kinds = p.kinds(at, v)
		case "expr":
			r.expr = p.program(at, v, expr.CompileMatcher)
		case "default":
			if v != true {
				p.fail(at, "must be true", "remove it or write match: default")
			} else if len(object) > 1 {
				p.fail(at, "matches everything and cannot stand with other matchers", "remove it")
			}
		default:
			if HasField(name) {
				p.fail(at, "is a field of the rule, not a matcher", fmt.Sprintf("write it beside match: {match: …, %s: …}", name))
				break
			}
			p.fail(at, "unknown matcher", Known(name, matchers))
		}
	}
}

// pattern reads an exact text, or a regular expression between slashes.
func (p *decoder) pattern(at string, v any) pattern {
	s, ok := v.(string)
	if !ok || s == "" {
		p.fail(at, "must be a text or a /regular expression/", "")
		return pattern{}
	}
	if len(s) < 2 || !strings.HasPrefix(s, "/") || !strings.HasSuffix(s, "/") {
		return pattern{exact: s}
	}
	re, err := expr.CompilePattern(s[1 : len(s)-1])
	if err != nil {
		p.fail(at, "bad regular expression: "+err.Error(), "")
		return pattern{}
	}
	p.patterns += re.Size
	return pattern{re: re.Regexp}
}

func (p *decoder) kinds(at string, v any) []Kind {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) == 0 {
		p.fail(at, "matches nothing", "name at least one kind")
	}
	out := make([]Kind, 0, len(list))
	for _, item := range list {
		name, _ := item.(string)
		kind := kindNamed(name)
		if kind == 0 {
			p.fail(at, "unknown kind "+show(item), knownText(item, strings.Join(knownKinds(), ", ")))
			continue
		}
		out = append(out, kind)
	}
	return out
}

// program reads an expression.
func (p *decoder) program(at string, v any, compile func(string) (*expr.Program, error)) *expr.Program {
	src, ok := v.(string)
	if !ok {
		p.fail(at, "must be an expression", "")
		return nil
	}
	program, err := compile(src)
	if err != nil {
		p.fail(at, err.Error(), "")
		return nil
	}
	p.patterns += program.PatternSize()
	return program
}
