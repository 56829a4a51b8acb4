package definition

import (
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// kind is what a kind of component adds to definitions: one file for each, kind_NAME.go.
type kind struct {
	fields    properties // a component that has one of these is of this kind
	own       properties // what only this kind has beside
	read      func(r *decoder, p *part, field, path string, v any)
	whole     func(r *decoder, p *part)                   // once all fields are read; nil: nothing
	check     func(b *builder, p *part, input *expr.Type) // the expressions, by what is known of their input
	fed       bool                                        // its field says what feeds it, in place of after and in
	passes    bool                                        // its value is the one that arrived
	yields    func(*part) *expr.Type                      // what is known of its value, if that is another; nil: nothing
	guards    bool                                        // it can be not taken, without a when
	parted    bool                                        // a part of it does its work: a step or an expression
	evaluated bool                                        // by the planner itself; else its runnables are attempted
	lenient   bool                                        // a failure is of that activation only, whatever on_failure of the options says
	shape     [2]string                                   // of its node in Mermaid
	example   string                                      // a component, in YAML
}

// kinds has one line per kind.
var kinds = [...]kind{
	policy.KindStep:      stepKind,
	policy.KindExpr:      exprKind,
	policy.KindCondition: conditionKind,
	policy.KindSleep:     sleepKind,
	policy.KindRule:      ruleKind,
	policy.KindMap:       mapKind,
	policy.KindReduce:    reduceKind,
	policy.KindUntil:     untilKind,
	policy.KindIdleFor:   idleForKind,
	policy.KindSignal:    signalKind,

	policy.KindAccumulate:   accumulateKind,
	policy.KindStateMachine: stateMachineKind,
}

// properties are fields of a component, each with the JSON Schema of its value.
type properties []struct{ name, schema string }

func (p properties) has(name string) bool {
	return slices.ContainsFunc(p, func(f struct{ name, schema string }) bool { return f.name == name })
}

func (p properties) names() []string {
	all := make([]string, 0, len(p))
	for _, f := range p {
		all = append(all, f.name)
	}
	return all
}

// Example is a component of a kind, in YAML.
func Example(k policy.Kind) string { return kinds[k].example }

// Fields are those of which a component of a kind has one, then those that only this kind has.
func Fields(k policy.Kind) (one, own []string) { return kinds[k].fields.names(), kinds[k].own.names() }

// shared are the fields of components of any kind.
var shared = []string{"after", "catch", "context", "else", "in", "policy", "requires", "when"}

// componentFields are all fields of a component, for errors. Forms in milliseconds go without saying.
var componentFields = func() string {
	all := slices.Clone(shared)
	for i := range kinds {
		all = append(append(all, kinds[i].fields.names()...), kinds[i].own.names()...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return joinNames(slices.DeleteFunc(all, func(s string) bool { return strings.HasSuffix(s, "_ms") }))
}()

// fieldsOfComponents has the same.
var fieldsOfComponents = func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.SplitSeq(componentFields, ", ") {
		all[name] = true
	}
	return all
}()

// kindNames are all kinds, for errors.
var kindNames = func() string {
	var all []string
	for _, k := range policy.Kinds() {
		all = append(all, k.String())
	}
	return oneOfNames(all)
}()

// kindsWith are the kinds that have a field of their own, for errors.
func kindsWith(field string) string {
	var all []string
	for _, k := range policy.Kinds() {
		if kinds[k].own.has(field) {
			all = append(all, k.String())
		}
	}
	article := "a "
	if strings.ContainsRune("aeiou", rune(all[0][0])) {
		article = "an "
	}
	return article + oneOfNames(all)
}

// oneOfNames writes names as a, b or c.
func oneOfNames(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return joinNames(names[:last]) + " or " + names[last]
}

// kind finds the one field that says what the component does.
func (r *decoder) kind(p *part, object map[string]any) {
	var found []string
	for i := range kinds {
		for _, field := range kinds[i].fields.names() {
			if _, ok := object[field]; ok && !ownOfAnother(object, i, field) {
				found = append(found, field)
				p.Kind = policy.Kind(i)
			}
		}
	}
	switch {
	case len(found) > 1:
		r.fail(p.path, "is both "+strings.Join(found, " and "), "keep one, and make the other a component of its own")
	case len(found) == 0 && !hasLaterKind(object):
		r.fail(p.path, "has no kind", "give it "+kindNames)
	}
}

// ownOfAnother reports whether a field that makes a component one of kind i is one of its own
// fields of another kind here.
func ownOfAnother(object map[string]any, i int, field string) bool {
	for j := range kinds {
		if j != i && kinds[j].own.has(field) && slices.ContainsFunc(kinds[j].fields.names(), func(f string) bool { _, ok := object[f]; return ok }) {
			return true
		}
	}
	return false
}

// ofKind reads a field that a kind has; false: none has it.
func (r *decoder) ofKind(p *part, field, path string, v any) bool {
	if k := &kinds[p.Kind]; k.fields.has(field) || k.own.has(field) { // another kind may have a field of that name
		k.read(r, p, field, path, v)
		return true
	}
	for i := range kinds {
		k := &kinds[i]
		switch {
		case k.fields.has(field):
			k.read(r, p, field, path, v)
		case !k.own.has(field), p.Kind == 0 && later[field]:
			continue
		case p.Kind == policy.KindStep && policy.HasField(field):
			r.fail(path, "only "+kindsWith(field)+" has "+field+" here", ofPolicy(field))
		case p.Kind != 0:
			r.fail(path, "only "+kindsWith(field)+" has "+field, "remove it")
		}
		return true
	}
	return false
}
