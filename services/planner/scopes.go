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

// scope is the row of another input, or of a nested scope. It goes when the input has
// settled, or the scope is closed.
type scope struct {
	Open     uint64
	Replace  bool
	Policies json.RawMessage
	Context  json.RawMessage

	// Of a nested scope.
	Owner events.RunnableID // which opened it
	Outer events.ScopeID    // the scope around it
	Root  events.ScopeID    // the input that it descends from

	Failed *events.TaskError // the first thing in it that failed for good; nil: nothing has
}

// Fields implements wire.Message.
func (s *scope) Fields(c *wire.Codec) {
	wire.Int(c, 1, "open", &s.Open)
	c.Bool(3, "replace", &s.Replace)
	c.JSON(4, "policies", &s.Policies)
	c.JSON(5, "context", &s.Context)
	wire.Int(c, 6, "owner", &s.Owner)
	wire.Int(c, 7, "outer", &s.Outer)
	wire.Int(c, 8, "root", &s.Root)
	wire.Optional(c, 9, "failed", &s.Failed)
}

func scopeKey(wf string, s events.ScopeID) rows.Key {
	return rows.Key{Table: rows.Scope, Workflow: wf, A: uint64(s)}
}

// begin begins to count what descends from an input.
func (ss *scopes) begin(e *events.InputAccepted) {
	h := ss.h()
	if e.Replace || len(e.Policies) > 0 || len(e.Context) > 0 || len(h.Scopes) >= headScopes {
		ss.tx.Create(scopeKey(ss.id, e.Fact), &scope{Replace: e.Replace, Policies: e.Policies, Context: e.Context})
		return
	}
	h.Scopes = append(slices.Clip(h.Scopes), openScope{Scope: e.Fact})
}

// end forgets an input that has settled: nothing descends from it any more.
func (ss *scopes) end(s events.ScopeID) {
	ss.write()
	ss.states.unsee(s)
	ss.settled(s)
	i := ss.head.scope(s)
	if i < 0 {
		ss.tx.Delete(scopeKey(ss.id, s))
		return
	}
	h := ss.h()
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

// given is what the input that a scope descends from brought along; it has not settled.
func (ss *scopes) given(s events.ScopeID) scope {
	if ss.head.scope(s) < 0 {
		if sc := rows.Get[scope](ss.tx, scopeKey(ss.id, s)); sc != nil {
			if sc.Outer != 0 {
				return ss.given(sc.Root)
			}
			return *sc
		}
	}
	return scope{}
}

// rested reports whether nothing is open of an input that has not settled.
func (ss *scopes) rested(s events.ScopeID) bool {
	if i := ss.head.scope(s); i >= 0 {
		return ss.head.Scopes[i].Open == 0
	}
	sc := rows.Get[scope](ss.tx, scopeKey(ss.id, s))
	return sc != nil && sc.Outer == 0 && sc.Open == 0
}

// opening is the change of what is open in a scope.
type opening struct {
	scope   events.ScopeID
	by      int64
	closing bool // a nested scope that is to be closed
}

// opened and closed count what is open in a scope. A step that ends and makes
// the next one ready changes nothing there: the count is written once, when the
// record is whole.
func (ss *scopes) opened(s events.ScopeID) { ss.count(s, 1) }

func (ss *scopes) closed(s events.ScopeID) { ss.count(s, -1) }

func (ss *scopes) count(s events.ScopeID, by int64) {
	for i := range ss.openings {
		if ss.openings[i].scope == s {
			ss.openings[i].by += by
			return
		}
	}
	ss.openings = append(ss.openings, opening{scope: s, by: by})
}

// write brings the counts of this record into the state.
func (ss *scopes) write() {
	for i := range ss.openings {
		if o := &ss.openings[i]; o.by != 0 {
			ss.add(o.scope, o.by)
			o.by = 0
		}
	}
}

func (ss *scopes) add(s events.ScopeID, by int64) {
	i := ss.head.scope(s)
	if i < 0 {
		sc := rows.Change[scope](ss.tx, scopeKey(ss.id, s))
		sc.Open = uint64(int64(sc.Open) + by)
		return
	}
	h := ss.h()
	h.Scopes = slices.Clone(h.Scopes)
	h.Scopes[i].Open = uint64(int64(h.Scopes[i].Open) + by)
}
