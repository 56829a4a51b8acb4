package workload

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

// Command adds a command that was sent.
func (c Coverage) Command(name string) { c.Commands[name]++ }

// Refusal adds a refusal that a caller was told.
func (c Coverage) Refusal(code string) { c.Refusals[code]++ }

// Record adds what a record of the journal holds.
func (c Coverage) Record(rec *events.Record) {
	for _, e := range rec.Events {
		c.Events[events.Name(e)]++
		switch e := e.(type) {
		case *events.CommandRefused:
			c.Refusal(e.Code)
		case *events.InputRejected:
			code, _, _ := strings.Cut(e.Reason, ":")
			c.Refusal(code)
		}
	}
}

// Missing is what has not occurred and should have. Excused are the names of
// what need not, each with the reason.
func (c Coverage) Missing(excused map[string]string) []string {
	var all []string
	missing := func(what string, names []string, have map[string]int) {
		for _, name := range names {
			if have[name] == 0 && excused[name] == "" {
				all = append(all, what+" "+name)
			}
		}
	}
	missing("command", events.CommandNames(), c.Commands)
	missing("event", events.Names(), c.Events)
	missing("refusal", events.RefusalCodes(), c.Refusals)
	return all
}
