package planner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

const (
	megabyte = 1 << 20
	many     = 4_900 // components; a definition may have 5,000
)

// components is a definition with n components like each, %d their number, and
// more.
func components(n int, each string, more ...string) string {
	all := more
	for i := range n {
		all = append(all, fmt.Sprintf(`"c%d":{%s}`, i, strings.ReplaceAll(each, "%d", fmt.Sprint(i))))
	}
	return `{"name":"d","components":{` + strings.Join(all, ",") + `}}`
}

// joined waits for n components.
func joined(n int, what string) string {
	arms := make([]string, n)
	for i := range arms {
		arms[i] = fmt.Sprintf(`"c%d"`, i)
	}
	return fmt.Sprintf(`"all":{%s,"after":[%s]}`, what, strings.Join(arms, ","))
}

// limitedWorld has the definition d and a budget.
func limitedWorld(t *testing.T, b machine.Budget, d string) *world {
	w := newWorld(t, setting{})
	w.budget = b
	w.p = w.planner()
	w.defs["d"] = d
	return w
}

func (w *world) startsWith(input string) events.Reply {
	w.t.Helper()
	return w.command("w", "start", `{"definition":"d","input":`+input+`}`)
}

// What would come to gigabytes takes little memory at a time: one that took more would
// die, and die again whenever it reads the input.
func TestADecisionTakesLittleMemory(t *testing.T) {
	for name, definition := range map[string]string{
		"results":             components(many, `"expr":"input"`),
		"facts of conditions": components(300, `"condition":"true"`),
		"a join":              components(many, `"condition":"true"`, joined(many, `"expr":"len(input)"`)),
		"a named join":        components(2, `"condition":"true"`, `"all":{"expr":"len(input)","in":{"a":"c0","b":"c1"}}`),
		"decoding":            components(300, `"condition":"len(input) < 0"`),
		"fields":              components(300, `"when":"input.x == 1","expr":"1"`),
		"tasks":               components(many, `"step":"f.id"`),
	} {
		t.Run(name, func(t *testing.T) {
			w := limitedWorld(t, machine.Budget{}, definition)
			w.command("compiled", "start", `{"definition":"d"}`)
			input := `{"x":"` + strings.Repeat("x", megabyte) + `"}`
			w.held = true
			wiretest.Bounded(t, len(input), 16, 160<<20, func() { w.startsWith(input) })
			for pieces := 0; w.inHand("w") && pieces < 30; pieces++ {
				wiretest.Bounded(t, len(input), 16, 160<<20, func() { w.goesOn("w") })
			}
		})
	}
}

// inHand reports whether a workflow has something in hand.
func (w *world) inHand(id string) bool {
	h, _ := w.state.Get(headerKey(id), nil).(*header)
	return h != nil && h.inHand() > 0
}

func codeOf(r events.Reply) string {
	if r.Refusal == nil {
		return ""
	}
	return r.Refusal.Code
}

// Numbers are what is dearest to decode, for its size: what fans out does it once, in
// whatever number of pieces.
func TestDecodingIsCounted(t *testing.T) {
	numbers := "[" + strings.TrimSuffix(strings.Repeat("1,", 250_000), ",") + "]"
	pieces := func(each string, more ...string) int {
		w := limitedWorld(t, machine.Budget{}, components(100, each, more...))
		w.startsWith(numbers)
		if s := w.status("w"); s.Status != "idle" {
			t.Fatalf("the workflow is %s: %+v", s.Status, s.Failure)
		}
		return len(w.records)
	}
	if n := pieces(`"expr":"len(input)"`); n > 3 {
		t.Errorf("one input for a hundred components takes %d pieces", n)
	}
	if n := pieces(`"expr":"len(input.a) + %d","in":{"a":"x"}`, `"x":{"condition":"true"}`); n < 100 {
		t.Errorf("a hundred values take %d pieces", n)
	}
}

const loops = `all(1..650, all(1..650, true))`

// A component that loops at length is given up in well under a lease, and fails by
// itself; what is beside it goes on.
func TestACostlyComponentFails(t *testing.T) {
	for name, each := range map[string]string{
		"a result":    `"expr":"` + loops + `"`,
		"a condition": `"condition":"` + loops + `"`,
		"a when":      `"when":"` + loops + `","step":"f.id"`,
		"a time":      `"sleep":{"$":"` + loops + ` ? 1 : 2"}`,
		"an input":    `"step":"f.id","params":{` + params(6, loops) + `}`,
		"a span":      `"expr":"first(1..500000)"`,
	} {
		t.Run(name, func(t *testing.T) {
			d := components(3, each+`,"policy":{"on_failure":"skip"}`, `"beside":{"expr":"input"}`)
			w := limitedWorld(t, machine.Budget{}, d)
			if r := w.startsWith("1"); r.Refusal != nil {
				t.Fatal(r.Refusal.Message)
			}
			s := w.status("w")
			if s.Status != "idle" || s.Counts.Skipped != 3 {
				t.Fatalf("the workflow is %s with %+v", s.Status, s.Counts)
			}
			for _, r := range w.listed("w", "skipped", 10) {
				if r.Error.Type != events.ErrorTooCostly || !strings.Contains(r.Error.Message, "more than 250000 steps") {
					t.Errorf("%s failed as %+v", r.Component, r.Error)
				}
			}
			w.conserved("w")
		})
	}
}

// A rule that takes too much fails what it is asked for: one that was given up might
// have matched.
func TestACostlyRuleFails(t *testing.T) {
	w := limitedWorld(t, machine.Budget{}, strings.TrimSuffix(components(1, `"step":"f.id"`), "}")+`,"policies":[{"match":{"expr":"`+loops+`"},"max_retries":1}]}`)
	w.startsWith("1")
	if s := w.status("w"); s.Status != "failed" || s.Failure.Error.Type != events.ErrorTooCostly {
		t.Errorf("the workflow is %s: %+v", s.Status, s.Failure)
	}
}

// Labels are of the start itself: it is refused.
func TestCostlyLabelsAreRefused(t *testing.T) {
	w := limitedWorld(t, machine.Budget{}, strings.TrimSuffix(components(1, `"step":"f.id"`), "}")+`,"options":{"labels":{`+labels(20, loops)+`}}}`)
	if code := codeOf(w.startsWith("1")); code != "too_costly" {
		t.Errorf("refused with %q, want too_costly: %+v", code, w.replies[0].Refusal)
	}
}

// Many components each of which takes little are no less work than one that takes much,
// and no workflow is refused for that.
func TestACostlyDecisionIsParted(t *testing.T) {
	for name, d := range map[string]string{
		"results":    components(50, `"expr":"all(1..200, all(1..200, true)) && %d >= 0"`),
		"conditions": components(50, `"when":"all(1..200, all(1..200, true)) && %d >= 0","step":"f.id"`),
		"inputs":     components(50, `"step":"f.id","input":"all(1..200, all(1..200, true)) && %d >= 0"`),
	} {
		t.Run(name, func(t *testing.T) {
			w := limitedWorld(t, machine.Budget{}, d)
			w.startsWith("1")
			if n := len(w.records); n < 10 {
				t.Errorf("it took %d records", n)
			}
			w.run()
			if s := w.status("w"); s.Status != "idle" || s.Counts.Failed+s.Counts.Skipped > 0 {
				t.Errorf("the workflow is %s with %+v", s.Status, s.Counts)
			}
		})
	}
}

func params(n int, src string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"p%d":{"$":"%s"}`, i, src)
	}
	return strings.Join(all, ",")
}

func labels(n int, src string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"l%d":{"$":"string(%s)"}`, i, src)
	}
	return strings.Join(all, ",")
}

// What arrives may be read and written once, however little else a component may take;
// what reads it again and again fails.
func TestAnInputPaysForItsReading(t *testing.T) {
	input := "[" + strings.TrimSuffix(strings.Repeat("1,", 50_000), ",") + "]"
	for expr, want := range map[string]string{
		"input":                         "running",
		"map(1..10, len(input))":        "running",
		"map(1..10, map(input, # + 1))": "failed",
	} {
		d := components(1, `"expr":"`+expr+`"`, `"s":{"step":"f.id"}`)
		for how, begin := range map[string]func(w *world){
			"a start": func(w *world) { w.startsWith(input) },
			"an input": func(w *world) {
				w.command("w", "start", `{"definition":"d"}`)
				w.command("w", "input", `{"input":`+input+`}`)
			},
			"a result": func(w *world) {
				w.defs["d"] = `{"name":"d","components":{"a":{"step":"f.id"},"b":{"expr":"` + expr + `","after":"a"},"c":{"step":"f.id","after":"a"}}}`
				w.startsWith("1")
				w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: w.tasks[0].Token, Outcome: events.OutcomeCompleted, Result: []byte(input)}})
			},
		} {
			w := limitedWorld(t, machine.Budget{Steps: machine.LeastSteps}, d)
			begin(w)
			if s := w.status("w"); s.Status != want {
				t.Errorf("%s of %s: the workflow is %s, want %s: %+v", how, expr, s.Status, want, s.Failure)
			}
		}
	}
}

// Steps that are just enough are enough, and one less is not.
func TestABudgetHasAnEdge(t *testing.T) {
	status := func(n int) string {
		w := limitedWorld(t, machine.Budget{Steps: n}, `{"name":"d","components":{"a":{"expr":"map(1..200, input)"},"b":{"step":"f.id","after":"a"}}}`)
		w.startsWith("1")
		return w.status("w").Status
	}
	least := 5
	for status(least) != "running" {
		if least++; least > 10_000 {
			t.Fatal("nothing is enough")
		}
	}
	if got := status(least - 1); got != "failed" || least < 10 {
		t.Errorf("with %d, one less than enough, the workflow is %s", least-1, got)
	}
}

// A value that is too large fails the component that makes it, or that a join hands it to.
func TestATooLargeValueFailsItsComponent(t *testing.T) {
	for name, d := range map[string]string{
		"a result": `{"name":"d","components":{"a":{"expr":"map(1..20, input)"}}}`,
		"a join":   `{"name":"d","components":{"x":{"expr":"map(1..8, input)"},"y":{"expr":"map(1..8, input)"},"a":{"expr":"input","after":["x","y"]}}}`,
		"a task":   `{"name":"d","components":{"a":{"step":"f.id","input":"map(1..20, input)"}}}`,
		"a wait":   `{"name":"d","components":{"x":{"expr":"map(1..8, input)"},"y":{"expr":"map(1..8, input)"},"a":{"sleep":"1s","after":["x","y"]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := limitedWorld(t, machine.Budget{Value: 10_000}, d)
			w.startsWith(string(text(1000)))
			w.advance(2000)
			if s := w.status("w"); s.Status != "failed" || s.Failure.Component != "a" || s.Failure.Error.Type != events.ErrorResultTooLarge {
				t.Errorf("the workflow is %s: %+v", s.Status, s.Failure)
			}
		})
	}
}

// What was decided is replayed whatever the budget is then.
func TestReplayHasNoBudget(t *testing.T) {
	w := limitedWorld(t, machine.Budget{}, components(100, `"expr":"map(1..50, input)"`))
	if r := w.startsWith("1"); r.Refusal != nil {
		t.Fatal(r.Refusal.Message)
	}
	w.budget = machine.Budget{Bytes: 1, Events: 1, Steps: 1, Tasks: 1, Value: 1}
	w.restart()
}

// What takes too much behind an outcome, a loss or a timer fails by itself, and can be
// told to go on.
func TestConsequencesThatCostTooMuchFail(t *testing.T) {
	const loops = `"c":{"expr":"all(1..100, all(1..100, true))","in":{"a":"a?"}}`
	step := func(policy string) string {
		return `{"name":"d","components":{"a":{"step":"f.id","policy":{` + policy + `}},` + loops + `}}`
	}
	lost := machine.Input{Workflow: "w", Lost: &machine.Lost{Runnable: 1, Attempt: 1, Reason: "gone"}}
	for name, c := range map[string]struct {
		definition string
		input      func(w *world) machine.Input
	}{
		"an outcome":            {step(`"on_failure":"halt"`), (*world).completes},
		"a loss":                {step(`"on_lost":"fail","on_failure":"skip"`), func(*world) machine.Input { return lost }},
		"a timer of an attempt": {step(`"timeout":"1s","on_failure":"skip"`), (*world).timesOut},
		"a sleep":               {`{"name":"d","components":{"a":{"sleep":"1s"},` + loops + `}}`, (*world).fires},
	} {
		t.Run(name, func(t *testing.T) {
			w := limitedWorld(t, machine.Budget{Steps: 1000}, c.definition)
			if r := w.startsWith("1"); r.Refusal != nil {
				t.Fatal(r.Refusal.Message)
			}
			w.decide(c.input(w))
			s := w.status("w")
			if s.Status != "failed" || s.Failure == nil || s.Failure.Component != "c" || s.Failure.Error.Type != events.ErrorTooCostly {
				t.Fatalf("the workflow is %s, its failure %+v", s.Status, s.Failure)
			}
			w.conserved("w")
			w.budget = machine.Budget{Steps: 10_000_000}
			w.p = w.planner()
			if r := w.command("w", "retry", `{}`); r.Refusal != nil || w.status("w").Status != "idle" {
				t.Errorf("retried: %+v, the workflow is %s", r.Refusal, w.status("w").Status)
			}
		})
	}
}

func (w *world) completes() machine.Input {
	return machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: w.tasks[0].Token, Outcome: events.OutcomeCompleted, Result: []byte("1")}}
}

func (w *world) timesOut() machine.Input {
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskNotified{Token: w.tasks[0].Token, Executor: "x"}})
	return w.fires()
}

func (w *world) fires() machine.Input { return machine.Input{Workflow: "w", Timer: w.timer()} }

// Many large attempts are not made at once.
func TestLargeTasksAreAdmittedInPieces(t *testing.T) {
	w := limitedWorld(t, machine.Budget{Tasks: megabyte}, components(60, `"step":"f.id"`))
	w.held = true
	made := 0
	w.startsWith(string(text(megabyte / 10)))
	for more := true; more; {
		if n := len(w.tasks) - made; n > 12 {
			t.Fatalf("%d tasks of a tenth of a megabyte in one decision", n)
		}
		made = len(w.tasks)
		if more = w.inHand("w"); more {
			wiretest.Bounded(t, megabyte, 100, 0, func() { w.goesOn("w") })
		}
	}
	w.held = false
	w.run()
	if s := w.status("w"); s.Status != "idle" || s.Counts.Completed != 60 {
		t.Errorf("the workflow is %s with %+v", s.Status, s.Counts)
	}
}

// What a decision leaves is the same each time.
func TestExceedingABudgetIsDeterministic(t *testing.T) {
	w := limitedWorld(t, machine.Budget{Steps: 1000}, components(20, `"expr":"all(1..100, true)"`))
	decide := func() []byte {
		cmd, cerr := events.ParseCommand([]byte("w"), nil, []byte(`{"command":"start","definition":"d","input":1}`), "p")
		if cerr != nil {
			t.Fatal(cerr)
		}
		at := events.Position{Epoch: 1, Seq: 1}
		tx := rows.Begin(&w.state)
		evs := w.p.Decide(tx, at, 1, machine.Input{Workflow: "w", Command: cmd}).Events
		return wire.Marshal(&events.Record{Position: at, Workflow: "w", Events: evs})
	}
	if first, again := decide(), decide(); string(first) != string(again) {
		t.Errorf("decided\n%s\nthen\n%s", wire.Text(first), wire.Text(again))
	}
}
