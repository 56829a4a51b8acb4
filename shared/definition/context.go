package definition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// runContext is what a definition says of the context that its runs are given.
type runContext struct {
	required []string // keys that a run must give, sorted
	defaults []field  // of keys that it need not give, sorted
}

const (
	contextFields = "defaults, required"
	maxKeys       = 256 // that are required in one place
)

// runContext reads the field `context` of a definition.
func (r *decoder) runContext(v any) (c runContext) {
	object := r.object("context", v, "write context: {required: [tenant], defaults: {factor: 2}}")
	for _, name := range sortedKeys(object) {
		path := join("context", name)
		switch name {
		case "required":
			c.required = r.keys(path, object[name])
		case "defaults":
			c.defaults = r.values(path, object[name], "write defaults: {factor: 2}")
		default:
			r.fail(path, "unknown field", policy.Known(name, contextFields))
		}
	}
	return c
}

// keys reads a list of keys of a context; sorted.
func (r *decoder) keys(path string, v any) []string {
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > maxKeys {
		r.fail(path, fmt.Sprintf("must be a list of 1 to %d keys of the context", maxKeys), "write [tenant]")
		return nil
	}
	keys := make([]string, 0, len(list))
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch key, ok := item.(string); {
		case !ok || key == "":
			r.fail(at, "must be a key of the context, a text", "")
		case slices.Contains(keys, key):
			r.fail(at, fmt.Sprintf("%q is there twice", shortened(key)), "remove one")
		default:
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// values reads an object of literals by field; nil: it is none, or empty.
func (r *decoder) values(path string, v any, fix string) (fields []field) {
	object := r.object(path, v, fix)
	for _, name := range sortedKeys(object) {
		b, err := expr.Append(nil, object[name])
		if err != nil {
			r.fail(join(path, name), err.Error(), "")
			return nil
		}
		fields = append(fields, field{name, b})
	}
	return fields
}

// neverMissing refuses to require what is always there.
func (r *decoder) neverMissing(s *spec) {
	for _, key := range s.context.required {
		if has(s.context.defaults, key) {
			r.fail("context.required", fmt.Sprintf("%q has a default, so it is never missing", shortened(key)), "remove it here, or its default")
		}
	}
	for _, p := range s.components {
		for _, key := range p.Requires {
			switch path := join(p.path, "requires"); {
			case has(p.context, key):
				r.fail(path, fmt.Sprintf("%q is in the component's own context, so it is never missing", shortened(key)), "remove it here, or there")
			case has(s.context.defaults, key):
				r.fail(path, fmt.Sprintf("%q has a default, so it is never missing", shortened(key)), "remove it here, or in context.defaults")
			}
		}
	}
}

// shareContexts lets the parts of a component see its context.
func shareContexts(parts []*part) {
	for _, p := range parts {
		for _, own := range append(slices.Clone(p.reactors), p.own) {
			if own != nil {
				own.Context, own.context = p.Context, p.context
			}
		}
	}
}

func has(fields []field, name string) bool {
	return slices.ContainsFunc(fields, func(f field) bool { return f.name == name })
}

// Whole is the name of the component that this one is a part of, or its own.
func (c *Component) Whole() string {
	name, _, _ := strings.Cut(c.Name, "/")
	return name
}

// ContextDefaults are the values that the definition gives a run whose context lacks them, as an object; nil: there are
// none. run must be an object or empty.
func (g *Graph) ContextDefaults(run json.RawMessage) (json.RawMessage, error) {
	if len(g.context.defaults) == 0 {
		return nil, nil
	}
	given, err := membersOf(run)
	if err != nil {
		return nil, err
	}
	lacks := slices.DeleteFunc(slices.Clone(g.context.defaults), func(f field) bool { return given[f.name] != nil })
	if len(lacks) == 0 {
		return nil, nil
	}
	return overlay(nil, lacks)
}

// CheckContext says which keys a run lacks that the definition, or a component, requires; nil: none. run is its context
// with the defaults, own what it gives a component alone: objects that have been read before, or empty.
func (g *Graph) CheckContext(run json.RawMessage, own func(component string) json.RawMessage) (errs Errors) {
	given := mustMembers(run)
	for _, key := range g.context.required {
		if given[key] == nil {
			errs = collect(errs, Error{Path: join("context", key), Message: "missing: the definition requires it", Fix: fmt.Sprintf("start with the context {%q: …}", shortened(key))})
		}
	}
	for _, c := range g.Components {
		if len(c.Requires) == 0 {
			continue
		}
		its := mustMembers(own(c.Name))
		for _, key := range c.Requires {
			if given[key] == nil && its[key] == nil {
				errs = collect(errs, Error{Path: join("context", key), Message: fmt.Sprintf("missing: the component %s requires it", c.Name),
					Fix: fmt.Sprintf("start with the context {%q: …}, or give it the component alone with component_context", shortened(key))})
			}
		}
	}
	return errs
}

// CheckOwnContexts checks what a run gives to components alone: objects, by component.
func (g *Graph) CheckOwnContexts(own map[string]json.RawMessage, path string) error {
	var errs Errors
	for _, name := range sortedKeys(own) {
		c, at := g.Lookup(name), join(path, name)
		switch {
		case c == nil || c.Whole() != c.Name:
			errs = collect(errs, Error{Path: at, Message: fmt.Sprintf("unknown component %q", shortened(name)), Fix: nearestOf(name, g.wholes())})
		case own[name][0] != '{':
			errs = collect(errs, Error{Path: at, Message: "must be an object"})
		}
	}
	if errs == nil {
		return nil
	}
	return errs
}

// wholes are the names of the components that are no parts of others.
func (g *Graph) wholes() (names []string) {
	for _, c := range g.Components {
		if !c.Gone && c.Whole() == c.Name {
			names = append(names, c.Name)
		}
	}
	return names
}

// membersOf are the members of an object, or none of what is empty.
func membersOf(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if len(raw) == 0 {
		return map[string]json.RawMessage{}, nil
	}
	return expr.Members(raw)
}

// mustMembers is membersOf an object that has been read before.
func mustMembers(raw json.RawMessage) map[string]json.RawMessage {
	members, err := membersOf(raw)
	if err != nil {
		panic("definition: a context that was checked: " + err.Error())
	}
	return members
}
