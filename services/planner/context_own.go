package planner

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/wire"
)

// ownContext is what a start gave a component alone. It wins over whatever else that sees.
type ownContext struct {
	Component string
	Context   json.RawMessage // an object
}

// Fields implements wire.Message.
func (o *ownContext) Fields(c *wire.Codec) {
	wire.String(c, 1, "component", &o.Component)
	c.JSON(2, "context", &o.Context)
}

// own is what the start gave a component alone, or the one that it is a part of; nil: nothing.
func (s *setup) own(c *definition.Component) json.RawMessage {
	if len(s.Own) == 0 {
		return nil
	}
	return s.ownOf(c.Whole())
}

// ownOf is the same by name.
func (s *setup) ownOf(component string) json.RawMessage {
	at, found := slices.BinarySearchFunc(s.Own, component, func(o ownContext, name string) int { return strings.Compare(o.Component, name) })
	if !found {
		return nil
	}
	return s.Own[at].Context
}

// ownSize is the size in bytes of what a start gave components alone.
func ownSize(own []ownContext) (n int) {
	for _, o := range own {
		n += len(o.Component) + len(o.Context)
	}
	return n
}

// ownContexts reads an object of contexts by component that was checked.
func ownContexts(raw json.RawMessage) (own []ownContext) {
	if len(raw) == 0 {
		return nil
	}
	all, err := expr.Members(raw)
	if err != nil {
		panic("contexts of components that were checked: " + err.Error())
	}
	for name, context := range all { // order: sorted below
		own = append(own, ownContext{name, context})
	}
	slices.SortFunc(own, func(a, b ownContext) int { return strings.Compare(a.Component, b.Component) })
	return own
}

// given checks the context that comes with a start, with the defaults of its definition, and that
// nothing is missing which that requires.
func (it *intake) given(g *definition.Graph, run, own json.RawMessage) (_, _ json.RawMessage, ok bool) {
	if run, ok = it.context(run); !ok {
		return nil, nil, false
	}
	if own, ok = it.ownContexts(g, own); !ok {
		return nil, nil, false
	}
	defaults, err := g.ContextDefaults(run)
	if err != nil {
		it.refuseAt("invalid_field", "context", err.Error())
		return nil, nil, false
	}
	if defaults != nil {
		it.spend.reads(len(run) + len(defaults))
		run = mergeObjects(run, defaults)
	}
	if missing := g.CheckContext(run, (&setup{Own: ownContexts(own)}).ownOf); missing != nil {
		at, message := firstWrong("context", missing)
		it.refuseAt("missing_context", at, message)
		return nil, nil, false
	}
	return run, own, true
}

// ownContexts checks what a start gives to components alone.
func (it *intake) ownContexts(g *definition.Graph, raw json.RawMessage) (json.RawMessage, bool) {
	const path = "component_context"
	if raw = optional(raw); raw == nil {
		return nil, true
	}
	raw, ok := it.compact(path, raw)
	if !ok {
		return nil, false
	}
	all, err := expr.Members(raw)
	if err == nil {
		err = g.CheckOwnContexts(all, path)
	}
	if err != nil {
		at, message := firstWrong(path, err)
		it.refuseAt("invalid_field", at, message)
		return nil, false
	}
	return raw, true
}

// firstWrong is the path of the first thing that is wrong, and the message of all, which then need not repeat it.
func firstWrong(otherwise string, err error) (path, message string) {
	path, message = otherwise, err.Error()
	if list, ok := errors.AsType[policy.Errors](err); ok && len(list) > 0 {
		path = list[0].Path
		message = strings.TrimPrefix(message, path+": ")
	}
	return path, message
}

// lacking are the reasons why what the run was given is not enough for another definition, and the
// defaults that it adds.
func (m *migration) lacking() (defaults json.RawMessage) {
	set := m.setup()
	defaults, err := m.to.ContextDefaults(set.Context)
	if err != nil {
		panic("context that was checked: " + err.Error())
	}
	run := set.Context
	if defaults != nil {
		m.spend.reads(len(run) + len(defaults))
		run = mergeObjects(run, defaults)
	}
	for _, e := range m.to.CheckContext(run, set.ownOf) {
		m.why.add(e.Path, e.Message)
	}
	return defaults
}
