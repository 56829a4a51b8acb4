package sim

import (
	"maps"

	"github.com/heddle-run/heddle/shared/events"
)

// Coverage is what of the closed sets has occurred.
type Coverage struct {
	Commands, Events, Refusals map[string]int
}

// NewCoverage is what has occurred in no run.
func NewCoverage() Coverage {
	return Coverage{map[string]int{}, map[string]int{}, map[string]int{}}
}

// Add adds what has occurred in another run.
func (c Coverage) Add(d Coverage) {
	for _, m := range [][2]map[string]int{{c.Commands, d.Commands}, {c.Events, d.Events}, {c.Refusals, d.Refusals}} {
		for k := range maps.Keys(m[1]) {
			m[0][k] += m[1][k]
		}
	}
}

func (c Coverage) command(name string) { c.Commands[name]++ }
func (c Coverage) refusal(code string) { c.Refusals[code]++ }

func (c Coverage) record(rec *events.Record) {
	for _, e := range rec.Events {
		c.Events[events.Name(e)]++
		if refused, ok := e.(*events.CommandRefused); ok {
			c.refusal(refused.Code)
		}
	}
}

// codes are the refusals that a run of many seeds has to meet. They are stable,
// and spelled where they are decided.
var codes = []string{
	"already_started", "attempt_closed", "closed", "conflict", "invalid_command", "invalid_cursor", "invalid_field",
	"invalid_state", "missing_field", "not_closed", "not_found", "nothing_to_retry", "nothing_to_skip", "quarantined",
	"stopped", "unknown_command", "unknown_definition",
}

// unreached is what the simulation does not bring about yet, with the reason.
var unreached = map[string]string{}

var unreachedOld = map[string]string{
	"RunnableSuppressed": "asked for by no definition that is drawn: conditions end in BranchNotTaken",
}

// Missing is what has not occurred and should have.
func (c Coverage) Missing() []string {
	var all []string
	missing := func(what string, names []string, have map[string]int) {
		for _, name := range names {
			if have[name] == 0 && unreached[name] == "" {
				all = append(all, what+" "+name)
			}
		}
	}
	missing("command", events.CommandNames(), c.Commands)
	missing("event", events.Names(), c.Events)
	missing("refusal", codes, c.Refusals)
	return all
}
