package planner

import (
	"encoding/json"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// headScopes is how many inputs the header has room for; more, and those with
// policies or context of their own, have rows.
const headScopes = 8

// openScope is an input of which nothing is known but how many activations that
// descend from it are open. It is in the header until the input has settled.
type openScope struct {
	Scope events.ScopeID
	Open  uint64
}

// Fields implements wire.Message.
func (o *openScope) Fields(c *wire.Codec) {
	wire.Int(c, 1, "scope", &o.Scope)
	wire.Int(c, 2, "open", &o.Open)
}

// scope is the row of another input. It goes when the input has settled.
type scope struct {
	Open     uint64
	Replace  bool
	Policies json.RawMessage
	Context  json.RawMessage
}

// Fields implements wire.Message.
func (s *scope) Fields(c *wire.Codec) {
	wire.Int(c, 1, "open", &s.Open)
	c.Bool(3, "replace", &s.Replace)
	c.JSON(4, "policies", &s.Policies)
	c.JSON(5, "context", &s.Context)
}

func scopeKey(wf string, s events.ScopeID) rows.Key {
	return rows.Key{Table: rows.Scope, Workflow: wf, A: uint64(s)}
}

// openScope begins to count what descends from an input.
func (t *turn) openScope(e *events.InputAccepted) {
	h := t.h()
	if e.Replace || len(e.Policies) > 0 || len(e.Context) > 0 || len(h.Scopes) >= headScopes {
		t.tx.Create(scopeKey(t.wf, e.Fact), &scope{Replace: e.Replace, Policies: e.Policies, Context: e.Context})
		return
	}
	h.Scopes = append(slices.Clip(h.Scopes), openScope{Scope: e.Fact})
}

// endScope forgets an input that has settled: nothing descends from it any more.
func (t *turn) endScope(s events.ScopeID) {
	t.writeOpen()
	i := t.head.scope(s)
	if i < 0 {
		t.tx.Delete(scopeKey(t.wf, s))
		return
	}
	h := t.h()
	h.Scopes = append(slices.Clone(h.Scopes[:i]), h.Scopes[i+1:]...)
}

// scope is the place of an input in the header, or -1.
func (h *header) scope(s events.ScopeID) int {
	for i := range h.Scopes {
		if h.Scopes[i].Scope == s {
			return i
		}
	}
	return -1
}

// given is what an input that has not settled brought along.
func (t *turn) given(s events.ScopeID) scope {
	if t.head.scope(s) < 0 {
		if sc := rows.Get[scope](t.tx, scopeKey(t.wf, s)); sc != nil {
			return *sc
		}
	}
	return scope{}
}

// rested says whether nothing is open of an input that has not settled.
func (t *turn) rested(s events.ScopeID) bool {
	if i := t.head.scope(s); i >= 0 {
		return t.head.Scopes[i].Open == 0
	}
	sc := rows.Get[scope](t.tx, scopeKey(t.wf, s))
	return sc != nil && sc.Open == 0
}

// opening is the change of what is open in a scope.
type opening struct {
	scope events.ScopeID
	by    int64
}

// opened and closed count what is open in a scope. A step that ends and makes
// the next one ready changes nothing there: the count is written once, when the
// record is whole.
func (t *turn) opened(s events.ScopeID) { t.count(s, 1) }

func (t *turn) closed(s events.ScopeID) { t.count(s, -1) }

func (t *turn) count(s events.ScopeID, by int64) {
	for i := range t.openings {
		if t.openings[i].scope == s {
			t.openings[i].by += by
			return
		}
	}
	t.openings = append(t.openings, opening{s, by})
}

// writeOpen brings the counts of this record into the state.
func (t *turn) writeOpen() {
	for i := range t.openings {
		if o := &t.openings[i]; o.by != 0 {
			t.addOpen(o.scope, o.by)
			o.by = 0
		}
	}
}

func (t *turn) addOpen(s events.ScopeID, by int64) {
	i := t.head.scope(s)
	if i < 0 {
		sc := rows.Change[scope](t.tx, scopeKey(t.wf, s))
		sc.Open = uint64(int64(sc.Open) + by)
		return
	}
	h := t.h()
	h.Scopes = slices.Clone(h.Scopes)
	h.Scopes[i].Open = uint64(int64(h.Scopes[i].Open) + by)
}
