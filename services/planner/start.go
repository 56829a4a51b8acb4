package planner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/rows"
)

// start begins a run. An existing run refuses it in every state.
func (t *turn) start(b *events.StartWorkflow) {
	t.spend.brings(b.Input, b.Context, b.Own)
	if t.exists() {
		t.refuse("already_started", fmt.Sprintf("the workflow %q exists and is %s", t.id, t.head.Status))
		return
	}
	d, g := t.intake.resolve(b.Definition)
	if g == nil {
		return
	}
	started, ok := t.intake.accept(g, b)
	if !ok {
		return
	}
	var input json.RawMessage
	if len(b.Input) > 0 {
		if input, ok = t.intake.input(g, b.Input); !ok {
			return
		}
	}
	if t.head != nil { // it is being deleted, and for everybody else it is gone
		t.emit(t.deletion())
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
func (it *intake) resolve(raw json.RawMessage) ([]byte, *definition.Graph) {
	src := []byte(raw)
	if raw[0] == '"' {
		ref, err := events.ParseText(raw)
		if err != nil {
			it.refuseAt("invalid_field", "definition", err.Error())
			return nil, nil
		}
		if row := rows.Get[definitionRow](it.tx, definitionKey(ref)); row != nil {
			return row.Canonical, it.p.graph(it.tx, ref)
		}
		canonical, ok := it.p.cfg.Definitions(ref)
		if !ok {
			it.refuseAt("unknown_definition", "definition", fmt.Sprintf("there is no definition %q; register it with `heddle define FILE`", ref))
			return nil, nil
		}
		src = canonical
	} else {
		src = slices.Clone(src) // what is compiled is kept
	}
	return it.compile(src)
}

func (it *intake) compile(src []byte) ([]byte, *definition.Graph) {
	c, err := it.p.compile(src)
	if err == nil {
		err = c.graph.CheckParams()
	}
	if err != nil {
		it.refuseDefinition(err)
		return nil, nil
	}
	return c.canonical, c.graph
}

func (it *intake) refuseDefinition(err error) {
	path := "definition"
	var list definition.Errors
	if errors.As(err, &list) && len(list) > 0 && list[0].Path != "" {
		path = "definition." + list[0].Path
	}
	it.refuseAt("invalid_definition", path, err.Error())
}

// accept checks what comes with a start and makes its event.
func (it *intake) accept(g *definition.Graph, b *events.StartWorkflow) (*events.WorkflowStarted, bool) {
	e := &events.WorkflowStarted{Digest: g.Digest, Name: g.Name, Version: g.Version, By: b.By}
	var ok bool
	if e.Policies, ok = it.policies(g, b.Policies); !ok {
		return nil, false
	}
	if e.Context, e.Own, ok = it.given(g, b.Context, b.Own); !ok {
		return nil, false
	}
	e.Options = slices.Clone(optional(b.Options)) // the command's fields alias its record
	var o definition.Options
	if e.Options != nil {
		var err error
		if o, err = definition.ParseOptions(e.Options, "options"); err != nil {
			it.refuseAt("invalid_options", "options", err.Error())
			return nil, false
		}
	}
	if c := o.Over(g.Options).Completion; c != nil && it.p.cfg.Prefix != "" && strings.HasPrefix(c.Topic, it.p.cfg.Prefix) {
		it.refuseAt("invalid_options", "options.on_complete.topic", fmt.Sprintf("the topic %q belongs to Heddle, as all do that begin with %q", c.Topic, it.p.cfg.Prefix))
		return nil, false
	}
	if e.Labels, ok = it.labels(o.Over(g.Options), b, e.Context); !ok {
		return nil, false
	}
	return e, true
}

// labels evaluates the labels over the input that comes with the start.
func (it *intake) labels(o definition.Options, b *events.StartWorkflow, context json.RawMessage) (json.RawMessage, bool) {
	if len(o.Labels) == 0 {
		return nil, true
	}
	env := expr.Env{Input: optional(b.Input), Context: context, WorkflowID: it.id, Now: it.time(), Account: it.account()}
	all := make(map[string]string, len(o.Labels))
	for _, l := range o.Labels {
		text, err := l.Of(env)
		if it.spend.spent() {
			it.refuseAt("too_costly", "options.labels."+l.Name, it.spend.costs("evaluating the labels"))
			return nil, false
		}
		if err != nil {
			it.refuseAt("invalid_options", "options.labels."+l.Name, err.Error())
			return nil, false
		}
		all[l.Name] = text
	}
	return mustJSON(all), true
}

func (it *intake) policies(g *definition.Graph, raw json.RawMessage) (json.RawMessage, bool) {
	raw = optional(raw)
	if raw == nil {
		return nil, true
	}
	raw, ok := it.compact("policies", raw)
	if !ok {
		return nil, false
	}
	rules, err := policy.ParseRules(raw, "policies")
	if err == nil {
		err = g.CheckRules(rules)
	}
	if err != nil {
		it.refuseAt("invalid_policy", "policies", err.Error())
		return nil, false
	}
	return raw, true
}

func (it *intake) context(raw json.RawMessage) (json.RawMessage, bool) {
	raw = optional(raw)
	if raw == nil {
		return nil, true
	}
	raw, ok := it.compact("context", raw)
	if ok && raw[0] != '{' {
		it.refuseAt("invalid_field", "context", "must be an object")
		return nil, false
	}
	return raw, ok
}

func (it *intake) input(g *definition.Graph, raw json.RawMessage) (json.RawMessage, bool) {
	raw, ok := it.compact("input", raw)
	if !ok {
		return nil, false
	}
	raw, err := g.AcceptInput(raw)
	if err != nil {
		it.refuseAt("invalid_input", "input", err.Error())
		return nil, false
	}
	return raw, true
}

// compact takes white space out of a value and detaches it from the record it
// came in.
func (it *intake) compact(path string, raw json.RawMessage) (json.RawMessage, bool) {
	var b bytes.Buffer
	b.Grow(len(raw))
	if err := json.Compact(&b, raw); err != nil {
		it.refuseAt("not_json", path, err.Error())
		return nil, false
	}
	return b.Bytes(), true
}

// optional maps an absent field and null to nothing.
func optional(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
