package planner

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// catching is what becomes of a failure that other components catch.
type catching struct {
	by    []uint32        // the components that do
	value json.RawMessage // what they get
}

// caughtFailure is what a component with catch gets.
type caughtFailure struct {
	Error shownError      `json:"error"`
	Value json.RawMessage `json:"value"`
}

// shownError is a failure as expressions see it: each field is there.
type shownError struct {
	Type      string          `json:"type"`
	Message   string          `json:"message"`
	Retryable bool            `json:"retryable"`
	Details   json.RawMessage `json:"details"`
}

// asShown is a failure as expressions see it.
func asShown(err events.TaskError) shownError {
	return shownError{err.Type, err.Message, !err.NonRetryable, orNull(err.Details)}
}

// catch asks the components that catch the failures of a runnable's whether they do. What
// their filters take comes out of the budget of one component. A filter that cannot be
// evaluated does not hold, and the failure says so.
func (en *ends) catch(id events.RunnableID, r *runnable, err *events.TaskError) (c catching) {
	of := en.component(r.Component)
	if !of.Caught() {
		return catching{}
	}
	failed := *err
	i := en.invoked(id)
	over := en.spend.evaluate(i.size(), func() {
		c.value = mustJSON(caughtFailure{
			asShown(failed), orNull(i.value()),
		})
		en.spend.holds(len(c.value))
		for _, e := range of.Children {
			if e.Catch && en.catches(en.component(uint32(e.Component)), r, c.value, err) {
				c.by = append(c.by, uint32(e.Component))
			}
		}
		if en.spend.spent() {
			en.spend.exceeds()
		}
	})
	if over != nil {
		err.Message = events.Cut(fmt.Sprintf("%s (it was not caught: %s)", failed.Message, over.Message), events.MaxErrorMessage)
		return catching{}
	}
	return c
}

// catches reports whether a component catches a failure.
func (en *ends) catches(by *definition.Component, r *runnable, value json.RawMessage, err *events.TaskError) bool {
	if by.When == nil {
		return true
	}
	holds, wrong := by.When.Holds(en.contexts.env(by, activation{scope: r.Scope, input: value}))
	if wrong != nil {
		err.Message = events.Cut(fmt.Sprintf("%s (%s did not catch it: %s)", err.Message, by.Name, wrong), events.MaxErrorMessage)
	}
	return holds && wrong == nil
}

func orNull(value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage("null")
	}
	return value
}

// caught sends a failure to the components that catch it.
func (fl *flow) caught(id events.RunnableID, r *runnable, c catching) {
	f := fl.nextFact()
	fl.emit(&events.FailureCaught{Runnable: id, Fact: f, Value: c.value})
	fl.send(fl.component(r.Component), events.Work{Scope: r.Scope, Fact: f, Catchers: c.by})
}

// caughtBy is what comes of a caught failure along an edge.
func caughtBy(w *events.Work, e definition.Edge) (events.FactID, cause) {
	switch {
	case e.Catch && slices.Contains(w.Catchers, uint32(e.Component)):
		return w.Fact, 0
	case e.Catch:
		return 0, notTaken
	default:
		return 0, suppressed
	}
}

// caught makes the fact of a failure. Its runnable has ended already.
func (fs *facts) caught(e *events.FailureCaught) {
	fs.h().NextFact = uint64(e.Fact)
	r := fs.runs.get(e.Runnable)
	fs.keep(e.Fact, &fact{
		Component: r.Component + 1, Scope: r.Scope, Parents: r.Parents, Depth: r.Depth, Time: fs.now, Value: e.Value, Failure: true,
	})
}
