package sim

import (
	"maps"
	"strings"

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
		switch e := e.(type) {
		case *events.CommandRefused:
			c.refusal(e.Code)
		case *events.InputRejected:
			code, _, _ := strings.Cut(e.Reason, ":")
			c.refusal(code)
		}
	}
}

// unreached is what the simulation does not bring about, with the reason.
var unreached = map[string]string{
	"expired": "no run lasts as long as the window in which repetitions are known",
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
	missing("refusal", events.RefusalCodes(), c.Refusals)
	return all
}
