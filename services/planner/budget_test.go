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

// A command that would come to gigabytes is refused before it does: the process
// that decides it would die, and die again whenever it reads the command.
func TestAPoisonPillIsRefusedInLittleMemory(t *testing.T) {
	for name, c := range map[string]struct{ definition, code string }{
		"results":             {components(many, `"expr":"input"`), "too_large"},
		"facts of conditions": {components(300, `"condition":"true"`), "too_large"},
		"a join":              {components(many, `"condition":"true"`, joined(many, `"expr":"len(input)"`)), "too_costly"},
		"a named join":        {components(2, `"condition":"true"`, `"all":{"expr":"len(input)","in":{"a":"c0","b":"c1"}}`), ""},
		"decoding":            {components(300, `"condition":"len(input) < 0"`), ""},
		"fields":              {components(300, `"when":"input.x == 1","expr":"1"`), "too_costly"},
	} {
		t.Run(name, func(t *testing.T) {
			w := limitedWorld(t, machine.Budget{}, c.definition)
			w.command("compiled", "start", `{"definition":"d","input":{"x":1}}`)
			input := `{"x":"` + strings.Repeat("x", megabyte) + `"}`
			var reply events.Reply
			wiretest.Bounded(t, len(input), 16, 160<<20, func() { reply = w.startsWith(input) })
			if code := codeOf(reply); code != c.code {
				t.Errorf("refused with %q, want %q", code, c.code)
			}
		})
	}
}

func codeOf(r events.Reply) string {
	if r.Refusal == nil {
		return ""
	}
	return r.Refusal.Code
}

// Numbers are what is dearest to decode, for its size: what fans out does it once,
// and different values of it are counted.
func TestDecodingIsCounted(t *testing.T) {
	numbers := "[" + strings.TrimSuffix(strings.Repeat("1,", 250_000), ",") + "]"
	w := limitedWorld(t, machine.Budget{}, components(100, `"expr":"len(input)"`))
	if r := w.startsWith(numbers); r.Refusal != nil {
		t.Errorf("one input for a hundred: %s", r.Refusal.Message)
	}
	each := `"expr":"len(input.a) + %d","in":{"a":"x"}`
	w = limitedWorld(t, machine.Budget{}, components(100, each, `"x":{"condition":"true"}`))
	if code := codeOf(w.startsWith(numbers)); code != "too_costly" {
		t.Errorf("a hundred values are refused with %q, want too_costly", code)
	}
}

// A decision that loops at length is refused in well under a lease.
func TestACostlyDecisionIsRefused(t *testing.T) {
	const loops = `all(1..650, all(1..650, true))`
	for name, d := range map[string]string{
		"results":    components(50, `"expr":"`+loops+`"`),
		"conditions": components(50, `"when":"`+loops+`","step":"f.id"`),
		"an input":   components(1, `"step":"f.id","params":{`+params(6, loops)+`}`),
		"rules":      strings.TrimSuffix(components(50, `"step":"f.id"`), "}") + `,"policies":[{"match":{"expr":"` + loops + `"},"max_retries":1}]}`,
		"spans":      components(50, `"expr":"first(1..500000)"`),
		"labels":     strings.TrimSuffix(components(1, `"step":"f.id"`), "}") + `,"options":{"labels":{` + labels(20, loops) + `}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := limitedWorld(t, machine.Budget{}, d)
			if code := codeOf(w.startsWith("1")); code != "too_costly" {
				t.Errorf("refused with %q, want too_costly: %+v", code, w.replies[0].Refusal)
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

// What an input says may be read and written once, however little else a decision
// may take; what reads it again and again is refused.
func TestAnInputPaysForItsReading(t *testing.T) {
	input := "[" + strings.TrimSuffix(strings.Repeat("1,", 50_000), ",") + "]"
	for expr, want := range map[string]string{
		"input":                         "",
		"map(1..10, len(input))":        "",
		"map(1..10, map(input, # + 1))": "too_costly",
	} {
		each := components(1, `"expr":"`+expr+`"`, `"s":{"step":"f.id"}`)
		for how, begin := range map[string]func(w *world) events.Reply{
			"a start": func(w *world) events.Reply { return w.startsWith(input) },
			"an input": func(w *world) events.Reply {
				w.command("w", "start", `{"definition":"d"}`)
				return w.command("w", "input", `{"input":`+input+`}`)
			},
		} {
			w := limitedWorld(t, machine.Budget{Steps: machine.LeastSteps}, each)
			if code := codeOf(begin(w)); code != want {
				t.Errorf("%s of %s is refused with %q, want %q", how, expr, code, want)
			}
		}
	}
	w := limitedWorld(t, machine.Budget{Steps: machine.LeastSteps}, `{"name":"d","components":{"a":{"step":"f.id"},"b":{"expr":"input","after":"a"}}}`)
	w.startsWith("1")
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: w.tasks[0].Token, Outcome: events.OutcomeCompleted, Result: []byte(input)}})
	if s := w.status("w"); s.Status == "failed" {
		t.Errorf("a result of its size fails the workflow: %+v", s.Failure)
	}
}

// A budget that is just enough is enough, and one less is not.
func TestABudgetHasAnEdge(t *testing.T) {
	const d = `{"name":"d","components":{"a":{"expr":"map(1..200, input)"},"b":{"step":"f.id","after":"a"}}}`
	for name, c := range map[string]struct {
		code string
		of   func(n int) machine.Budget
	}{
		"bytes":  {"too_large", func(n int) machine.Budget { return machine.Budget{Bytes: n} }},
		"events": {"too_costly", func(n int) machine.Budget { return machine.Budget{Events: n} }},
		"steps":  {"too_costly", func(n int) machine.Budget { return machine.Budget{Steps: n} }},
	} {
		t.Run(name, func(t *testing.T) {
			code := func(n int) string {
				w := limitedWorld(t, c.of(n), d)
				return codeOf(w.startsWith("1"))
			}
			least := 200 // a refusal has to have room
			if name == "events" {
				least = 1
			}
			for code(least) != "" {
				if least++; least > 10_000 {
					t.Fatal("nothing is enough")
				}
			}
			if got := code(least - 1); got != c.code || least < 5 {
				t.Errorf("with %d, one less than enough, refused with %q, want %q", least-1, got, c.code)
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
	w.budget = machine.Budget{Bytes: 1, Events: 1, Steps: 1, Tasks: 1}
	w.restart()
}

// The consequences of an outcome, a loss or a timer that exceed a budget halt the
// workflow, with a type that says why, and it can be told to go on.
func TestConsequencesThatCostTooMuchHalt(t *testing.T) {
	const loops = `"c":{"expr":"all(1..900, all(1..900, true))","in":{"a":"a?"}}`
	step := func(policy string) string {
		return `{"name":"d","components":{"a":{"step":"f.id","policy":{` + policy + `}},` + loops + `}}`
	}
	lost := machine.Input{Workflow: "w", Lost: &machine.Lost{Runnable: 1, Attempt: 1, Reason: "gone"}}
	for name, c := range map[string]struct {
		definition, typ string
		input           func(w *world) machine.Input
	}{
		"an outcome":            {step(`"on_failure":"halt"`), events.ErrorTooCostly, (*world).completes},
		"its failure skips":     {step(`"on_failure":"skip"`), events.ErrorTooCostly, (*world).completes},
		"a loss":                {step(`"on_lost":"fail","on_failure":"skip"`), events.ErrorLost, func(*world) machine.Input { return lost }},
		"a timer of an attempt": {step(`"timeout":"1s","on_failure":"skip"`), events.ErrorTimeout, (*world).timesOut},
		"a sleep":               {`{"name":"d","components":{"a":{"sleep":"1s"},` + loops + `}}`, events.ErrorTooCostly, (*world).fires},
	} {
		t.Run(name, func(t *testing.T) {
			w := limitedWorld(t, machine.Budget{Steps: 1000}, c.definition)
			if r := w.startsWith("1"); r.Refusal != nil {
				t.Fatal(r.Refusal.Message)
			}
			w.decide(c.input(w))
			s := w.status("w")
			if s.Status != "failed" || s.Failure == nil || s.Failure.Error.Type != c.typ || !strings.Contains(s.Failure.Error.Message, "more than 1000 steps") {
				t.Fatalf("the workflow is %s, its failure %+v", s.Status, s.Failure)
			}
			w.conserved("w")
			w.budget = machine.Budget{}
			w.p = w.planner()
			if r := w.command("w", "retry", `{}`); r.Refusal != nil || w.status("w").Status != "running" {
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

// Many large attempts are not made at once: the end of one lets the next ones in,
// and all run.
func TestLargeTasksAreAdmittedByAndBy(t *testing.T) {
	w := limitedWorld(t, machine.Budget{Tasks: megabyte}, components(60, `"step":"f.id"`))
	wiretest.Bounded(t, megabyte, 100, 0, func() { w.startsWith(string(text(megabyte / 10))) })
	if len(w.tasks) == 0 || len(w.tasks) > 12 {
		t.Fatalf("%d tasks of a tenth of a megabyte in one decision", len(w.tasks))
	}
	for n := 0; w.step(); n++ {
		if len(w.tasks) > 60 {
			t.Fatalf("%d tasks are open", len(w.tasks))
		}
	}
	if s := w.status("w"); s.Status != "idle" || s.Counts.Completed != 60 {
		t.Errorf("the workflow is %s with %+v", s.Status, s.Counts)
	}
}

// Inputs that are shaped at length are shaped by and by.
func TestCostlyInputsAreShapedByAndBy(t *testing.T) {
	w := limitedWorld(t, machine.Budget{Steps: 10_000}, components(40, `"step":"f.id","input":"all(1..1000, true)"`))
	if r := w.startsWith("1"); r.Refusal != nil || len(w.tasks) == 0 || len(w.tasks) > 10 {
		t.Fatalf("%d tasks in one decision; %+v", len(w.tasks), r.Refusal)
	}
	w.run()
	if s := w.status("w"); s.Status != "idle" || s.Counts.Completed != 40 {
		t.Errorf("the workflow is %s with %+v", s.Status, s.Counts)
	}
}

// The largest definition that there may be is decided in one record, and what
// ends it as well.
func TestAPlainDefinitionOfAnySizeIsWithinTheBudget(t *testing.T) {
	w := limitedWorld(t, machine.Budget{}, components(5000, `"step":"f.id"`))
	if r := w.startsWith(string(text(100_000))); r.Refusal != nil {
		t.Fatal(r.Refusal.Message)
	}
	if r := w.command("w", "cancel", `{}`); r.Refusal != nil {
		t.Fatal(r.Refusal.Message)
	}
}

// Whatever an input comes to, its decision is the same each time.
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
		if len(tx.Writes()) > 0 {
			t.Errorf("a refusal leaves %d writes", len(tx.Writes()))
		}
		return wire.Marshal(&events.Record{Position: at, Workflow: "w", Events: evs})
	}
	if first, again := decide(), decide(); string(first) != string(again) {
		t.Errorf("decided\n%s\nthen\n%s", wire.Text(first), wire.Text(again))
	}
}

// Attempts that somebody completes by their token one day let nobody wait: what is
// ready is admitted though its decision has cost much, if nothing else would.
func TestACostlyDecisionAdmitsBesideAttemptsThatAreDetached(t *testing.T) {
	costly := fmt.Sprintf(`"expr":"all(1..900, true) && %s"`, strings.TrimSuffix(strings.Repeat("all(1..900, true) && ", 3), " && "))
	w := limitedWorld(t, machine.Budget{Steps: 10_000}, `{"name":"d","components":{"c":{`+costly+`},"s":{"step":"f.ask","after":["c"]}}}`)
	detach := func() {
		for _, task := range w.tasks {
			w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskNotified{Token: task.Token, Detached: true}})
		}
		w.tasks = nil
	}
	if r := w.startsWith("1"); r.Refusal != nil || len(w.tasks) != 1 {
		t.Fatalf("%d tasks follow from the start: %+v", len(w.tasks), r.Refusal)
	}
	detach()
	if r := w.command("w", "input", `{"input":2}`); r.Refusal != nil {
		t.Fatal(r.Refusal.Message)
	}
	if len(w.tasks) != 1 {
		t.Errorf("%d tasks follow from an input; %+v", len(w.tasks), w.status("w").Counts)
	}
}
