package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/scan"
)

// start begins a run. An existing run refuses it in every state.
func (t *turn) start(b *events.StartWorkflow) {
	if t.head != nil {
		t.refuse("already_started", fmt.Sprintf("the workflow %q exists and is %s", t.wf, t.head.Status))
		return
	}
	d, g := t.resolve(b.Definition)
	if g == nil {
		return
	}
	started, ok := t.accept(g, b)
	if !ok {
		return
	}
	var input json.RawMessage
	if len(b.Input) > 0 {
		if input, ok = t.acceptInput(g, b.Input); !ok {
			return
		}
	}
	if rows.Get[definitionRow](t.tx, definitionKey(g.Digest)) == nil {
		t.emit(&events.DefinitionPinned{Digest: g.Digest, Canonical: d})
	}
	t.emit(started)
	if input != nil {
		t.feed(&events.InputAccepted{Fact: t.nextFact(), Value: input})
	}
}

// resolve finds the definition that a start names or brings along; nil after a refusal.
func (t *turn) resolve(raw json.RawMessage) ([]byte, *definition.Graph) {
	src := []byte(raw)
	if raw[0] == '"' {
		ref, err := events.ParseText(raw)
		if err != nil {
			t.refuseAt("invalid_field", "definition", err.Error())
			return nil, nil
		}
		if row := rows.Get[definitionRow](t.tx, definitionKey(ref)); row != nil {
			return row.Canonical, t.p.graph(t.tx, ref)
		}
		canonical, ok := t.p.cfg.Definitions(ref)
		if !ok {
			t.refuseAt("unknown_definition", "definition", fmt.Sprintf("there is no definition %q; register it with `heddle define FILE`", ref))
			return nil, nil
		}
		src = canonical
	} else {
		src = slices.Clone(src) // what is compiled is kept
	}
	return t.compile(src)
}

func (t *turn) compile(src []byte) ([]byte, *definition.Graph) {
	c, err := t.p.compile(src)
	if err == nil {
		err = c.graph.CheckParams()
	}
	if err != nil {
		t.refuseDefinition(err)
		return nil, nil
	}
	return c.canonical, c.graph
}

func (t *turn) refuseDefinition(err error) {
	path := "definition"
	var list definition.Errors
	if errors.As(err, &list) && len(list) > 0 && list[0].Path != "" {
		path = "definition." + list[0].Path
	}
	t.refuseAt("invalid_definition", path, err.Error())
}

// accept checks what comes with a start and makes its event.
func (t *turn) accept(g *definition.Graph, b *events.StartWorkflow) (*events.WorkflowStarted, bool) {
	e := &events.WorkflowStarted{Digest: g.Digest, Name: g.Name, Version: g.Version, By: b.By}
	var ok bool
	if e.Policies, ok = t.acceptPolicies(g, b.Policies); !ok {
		return nil, false
	}
	if e.Context, ok = t.acceptContext(b.Context); !ok {
		return nil, false
	}
	e.Options = slices.Clone(optional(b.Options)) // the command's fields alias its record
	var o definition.Options
	if e.Options != nil {
		var err error
		if o, err = definition.ParseOptions(e.Options, "options"); err != nil {
			t.refuseAt("invalid_options", "options", err.Error())
			return nil, false
		}
	}
	if e.Labels, ok = t.labels(o.Over(g.Options), b, e.Context); !ok {
		return nil, false
	}
	return e, true
}

// labels evaluates the labels over the input that comes with the start.
func (t *turn) labels(o definition.Options, b *events.StartWorkflow, context json.RawMessage) (json.RawMessage, bool) {
	if len(o.Labels) == 0 {
		return nil, true
	}
	env := expr.Env{Input: optional(b.Input), Context: context, WorkflowID: t.wf, Now: t.time(), Account: t.spend.account()}
	all := make(map[string]string, len(o.Labels))
	for _, l := range o.Labels {
		text, err := l.Of(env)
		if err != nil {
			t.refuseAt("invalid_options", "options.labels."+l.Name, err.Error())
			return nil, false
		}
		all[l.Name] = text
	}
	return mustJSON(all), true
}

func (t *turn) acceptPolicies(g *definition.Graph, raw json.RawMessage) (json.RawMessage, bool) {
	raw = optional(raw)
	if raw == nil {
		return nil, true
	}
	raw, ok := t.compact("policies", raw)
	if !ok {
		return nil, false
	}
	rules, err := policy.ParseRules(raw, "policies")
	if err == nil {
		err = g.CheckRules(rules)
	}
	if err != nil {
		t.refuseAt("invalid_policy", "policies", err.Error())
		return nil, false
	}
	return raw, true
}

func (t *turn) acceptContext(raw json.RawMessage) (json.RawMessage, bool) {
	raw = optional(raw)
	if raw == nil {
		return nil, true
	}
	raw, ok := t.compact("context", raw)
	if ok && raw[0] != '{' {
		t.refuseAt("invalid_field", "context", "must be an object")
		return nil, false
	}
	return raw, ok
}

func (t *turn) acceptInput(g *definition.Graph, raw json.RawMessage) (json.RawMessage, bool) {
	raw, ok := t.compact("input", raw)
	if !ok {
		return nil, false
	}
	raw, err := g.AcceptInput(raw)
	if err != nil {
		t.refuseAt("invalid_input", "input", err.Error())
		return nil, false
	}
	return raw, true
}

// compact takes white space out of a value and detaches it from the record it
// came in.
func (t *turn) compact(path string, raw json.RawMessage) (json.RawMessage, bool) {
	b, err := scan.Compact(raw)
	if err != nil {
		t.refuseAt("not_json", path, err.Error())
		return nil, false
	}
	return b, true
}

// optional maps an absent field and null to nothing.
func optional(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
