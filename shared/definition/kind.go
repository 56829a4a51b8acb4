package definition

import (
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
)

// kind is what a kind of component adds to definitions: one file for each, kind_NAME.go.
type kind struct {
	name      string
	fields    []string // a component that has one of these is of this kind
	own       []string // what only this kind has beside
	read      func(r *decoder, p *part, field, path string, v any)
	whole     func(r *decoder, p *part)                   // once all fields are read; nil: nothing
	check     func(b *builder, p *part, input *expr.Type) // the expressions, by what is known of their input
	passes    bool                                        // its value is the one that arrived
	guards    bool                                        // it can be not taken, without a when
	evaluated bool                                        // by the planner itself; else its runnables are attempted
	lenient   bool                                        // a failure is of that activation only, whatever on_failure of the options says
	shape     [2]string                                   // of its node in Mermaid
	example   string                                      // a component, in YAML
}

// kinds has one line per kind.
var kinds = [...]kind{
	Step:      stepKind,
	Expr:      exprKind,
	Condition: conditionKind,
	Sleep:     sleepKind,
}

// Kinds are all kinds, ascending.
func Kinds() []Kind {
	var all []Kind
	for k := range kinds {
		if k > 0 {
			all = append(all, Kind(k))
		}
	}
	return all
}

// Example is a component of the kind, in YAML.
func (k Kind) Example() string { return kinds[k].example }

// Fields are those of which a component of the kind has one, then those that only this kind has.
func (k Kind) Fields() (one, own []string) {
	return slices.Clone(kinds[k].fields), slices.Clone(kinds[k].own)
}

// shared are the fields of components of any kind.
var shared = []string{"after", "context", "else", "in", "policy", "when"}

// componentFields are all fields of a component, for errors. Forms in milliseconds go without saying.
var componentFields = func() string {
	all := slices.Clone(shared)
	for i := range kinds {
		all = append(append(all, kinds[i].fields...), kinds[i].own...)
	}
	slices.Sort(all)
	return joinNames(slices.DeleteFunc(all, func(s string) bool { return strings.HasSuffix(s, "_ms") }))
}()

// kindNames are all kinds, for errors.
var kindNames = func() string {
	var all []string
	for _, k := range Kinds() {
		all = append(all, k.String())
	}
	last := len(all) - 1
	return joinNames(all[:last]) + " or " + all[last]
}()

// kind finds the one field that says what the component does.
func (r *decoder) kind(p *part, object map[string]any) {
	var found []string
	for i := range kinds {
		for _, field := range kinds[i].fields {
			if _, ok := object[field]; ok {
				found = append(found, field)
				p.Kind = Kind(i)
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

// ofKind reads a field that a kind has; false: none has it.
func (r *decoder) ofKind(p *part, field, path string, v any) bool {
	for i := range kinds {
		k := &kinds[i]
		switch {
		case slices.Contains(k.fields, field), slices.Contains(k.own, field) && p.Kind == Kind(i):
			k.read(r, p, field, path, v)
		case !slices.Contains(k.own, field):
			continue
		case p.Kind != 0:
			r.fail(path, "only a "+k.name+" has "+field, "remove it")
		}
		return true
	}
	return false
}
