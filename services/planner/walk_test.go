package planner

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// walked has what a walk meets: nested scopes, joins, branches, failures of every sort,
// timers, and steps that are completed from outside.
const walked = `{"name":"d","options":{"max_concurrency":3},"components":{
	"lists":{"sleep":"1s"},"elements":{"sleep":"1s","after":"lists"},
	"work":{"step":"f.id","after":"elements","policy":{"timeout":"5s","start_timeout":"2s","deadline":"9s","heartbeat_timeout":"3s","max_retries":1}},
	"both":{"expr":"input[0] + input[1]","after":["elements","work"]},
	"odd":{"step":"f.id","after":"elements","when":"input % 2 == 1","input":"6 / (input - 3)","policy":{"on_failure":"skip"}},
	"even":{"expr":"input","else":"odd"},
	"beside":{"step":"f.id","policy":{"execution_mode":"external","timeout":"20s"}},
	"last":{"step":"f.id","after":"beside","policy":{"max_retries":0}}}}`

// walk takes a run through commands, outcomes, timers and pieces in random order.
type walk struct {
	*world
	r *rand.Rand
}

// TestWalks checks after every record of random walks, each of whose decisions has another
// budget, that counts are those of the rows, and that nothing rests that something is to
// follow from.
func TestWalks(t *testing.T) {
	withEach(t)
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			w := &walk{newWorld(t, setting{seed: seed + 1, restart: seed%4 == 0}), r}
			w.defs["d"] = walked
			w.held = true
			w.startsWith(`[[1,2],[3]]`)
			if w.status("w").Status != "running" {
				t.Fatal(w.replies)
			}
			for range 120 {
				w.move()
				w.consistent()
			}
			w.ends()
		})
	}
}

// move does something.
func (w *walk) move() {
	w.budget = machine.Budget{Events: 1 + w.r.IntN(12)}
	if w.r.IntN(3) == 0 {
		w.budget = machine.Budget{}
	}
	w.p = w.planner()
	any := func() string { return fmt.Sprintf(`{"runnable":"r%d"}`, 1+w.r.IntN(20)) }
	tree := string(mustJSON(nested(w.r, 5)))
	switch n := w.r.IntN(40); n {
	case 9, 10:
		if w.r.IntN(4) == 0 { // else little else would happen
			w.command("w", []string{"cancel", "delete"}[n-9], `{"force":true}`)
		}
	case 0, 1:
		w.command("w", "start", `{"definition":"d","input":`+tree+`}`)
	case 2, 3:
		w.command("w", "input", `{"input":`+tree+`}`)
	case 4:
		w.command("w", "pause", `{}`)
	case 5, 6, 7:
		w.command("w", "resume", []string{`{}`, fmt.Sprintf(`{"context":{"n":%d}}`, w.r.IntN(3))}[w.r.IntN(2)])
	case 8:
		w.command("w", "stop", `{"drain":"3s"}`)
	case 11, 12:
		w.command("w", "retry", `{}`)
	case 13:
		w.command("w", "retry", any())
	case 14, 15:
		w.command("w", "skip", any())
	case 16:
		w.decide(machine.Input{Workflow: "w", Source: events.FromEngine, Quarantine: &machine.Quarantine{Reason: fmt.Sprint(w.r.IntN(3))}})
	case 17, 18, 19:
		w.later(int64(w.r.IntN(3000)))
	default:
		if n < 30 && w.inHand("w") {
			w.goesOn("w")
			return
		}
		w.attempt()
	}
}

// later moves the clock, and fires what comes due, first of keys.
func (w *walk) later(ms int64) {
	until := w.now + ms
	for k := nextTimer(&w.keys); k != nil && int64(k.A) <= until; k = nextTimer(&w.keys) {
		w.now = max(w.now, int64(k.A))
		w.keyDecides(machine.Input{Workflow: k.Workflow, Source: events.FromTimer, Timer: k})
	}
	w.now = until
	w.deliverGrants()
	for next := w.timer(); next != nil && int64(next.A) <= w.now; next = w.timer() {
		if len(w.decide(machine.Input{Workflow: "w", Source: events.FromTimer, Timer: next})) == 0 {
			w.t.Fatalf("the timer %v changes nothing", next)
		}
		w.consistent()
	}
}

// attempt ends one, or says that a worker has it, whether it is still open or not.
func (w *walk) attempt() {
	if w.r.IntN(4) == 0 {
		w.keeps()
		return
	}
	if w.r.IntN(3) == 0 {
		for _, v := range w.openRunnables("w") {
			if v.Token != nil && v.Component == "beside" {
				w.command("w", []string{"complete", "fail"}[w.r.IntN(2)], fmt.Sprintf(`{"token":%q,"result":1,"error":{"type":"x","message":"y"}}`, *v.Token))
				return
			}
		}
	}
	task, ok := w.next()
	if !ok {
		return
	}
	token, err := events.PeekToken(task.Token)
	w.must(err)
	out := w.execute(task)
	switch w.r.IntN(10) {
	case 8, 9: // its worker may go on all the same
		w.tasks = append(w.tasks, task)
		wish := &events.TaskWish{Token: task.Token, Sets: w.r.IntN(4) > 0, Alarm: w.now + int64(w.r.IntN(4000)) - 1000, Sleep: w.r.IntN(2) == 0}
		w.decide(machine.Input{Workflow: "w", Source: events.FromInbox, Inbox: wish})
		return
	case 0:
		w.tasks = append(w.tasks, task)
		w.decide(machine.Input{Workflow: "w", Source: events.FromInbox, Inbox: &events.TaskNotified{Token: task.Token, Executor: "x"}})
		return
	case 1:
		w.decide(machine.Input{Workflow: "w", Lost: &machine.Lost{Runnable: token.Runnable, Attempt: token.Attempt, Reason: "gone"}})
		return
	case 2:
		out.Outcome, out.Started = events.OutcomeAbandoned, 0
	case 3, 4:
		out.Outcome, out.Error = events.OutcomeFailed, &events.TaskError{Type: "boom", NonRetryable: w.r.IntN(2) == 0}
	}
	w.decide(machine.Input{Workflow: "w", Source: events.FromInbox, Inbox: out})
}

// keeps lets an attempt keep something, or take it back, whether it is still open or not.
func (w *walk) keeps() {
	key := func() string { return string(rune('a' + w.r.IntN(4))) }
	for _, v := range w.openRunnables("w") {
		if v.Token != nil && w.r.IntN(2) == 0 {
			w.command("w", "keep", fmt.Sprintf(`{"token":%q,"delete":[%q,%q],"put":[{"key":%q,"value":%d},{"key":%q,"value":null}]}`,
				*v.Token, key(), key(), key(), w.r.IntN(1000), key()))
			return
		}
	}
}

// helped resumes the run, and lets it go on as far as an operator's skips bring it.
func (w *walk) helped() {
	w.command("w", "resume", `{}`)
	for n := 0; n < 200 && w.step(); n++ {
		w.consistent()
	}
	for _, v := range w.openRunnables("w") {
		if v.Status == "failed" || v.Status == "uncertain" || v.Component == "beside" && v.Status == "active" || strings.HasPrefix(v.WaitsFor, "the signal") {
			w.command("w", "skip", `{"runnable":"`+v.ID+`"}`)
		}
	}
	w.later(5000)
	w.consistent()
}

// ends brings the run to rest by what an operator has, and deletes it.
func (w *walk) ends() {
	w.budget, w.held = machine.Budget{}, false
	w.p = w.planner()
	for range 200 {
		w.helped()
		switch s := w.status("w").Status; s {
		case "idle", "cancelled", "":
			w.command("w", "delete", `{"force":true}`)
			w.gone()
			return
		}
	}
	w.t.Fatalf("it does not come to rest: %+v", w.status("w"))
}

// consistent checks what holds behind every record.
func (w *walk) consistent() {
	w.t.Helper()
	h, _ := w.state.Get(headerKey("w"), nil).(*header)
	if h == nil || h.Status == Deleting { // its rows go one after the other
		return
	}
	c := w.census(h)
	if got := c.counted(h); got != c.found {
		w.t.Fatalf("%s: the header counts %+v, the rows are %+v", h.Status, got, c.found)
	}
	if (h.Halted > 0) != (h.Failure != nil) {
		w.t.Fatalf("halted %d, failure %+v", h.Halted, h.Failure)
	}
	for id := range c.open {
		if c.scopes[id] != c.open[id] {
			w.t.Fatalf("%s: scope %s counts %d, open are %d", h.Status, id, c.scopes[id], c.open[id])
		}
	}
	for id, r := range c.fanned {
		if r.Fanned.Open != c.owned[id] {
			w.t.Fatalf("%s counts %d scopes, they are %d", id, r.Fanned.Open, c.owned[id])
		}
	}
	for id, n := range c.kept {
		if n != c.keeps[id] {
			w.t.Fatalf("%s counts that it keeps %+v, the rows are %+v", id, n, c.keeps[id])
		}
	}
	if len(c.keeps) > len(c.kept) {
		w.t.Fatalf("of %v rows are kept, and only %v count some", c.keeps, c.kept)
	}
	if why := c.stuck(h); why != "" && h.inHand() == 0 {
		w.t.Fatalf("%s: %s: %+v", h.Status, why, h)
	}
}

// census is what the rows of a run come to.
type census struct {
	scopes map[events.ScopeID]uint64 // what they count
	open   map[events.ScopeID]uint64 // what is open in them
	fanned map[events.RunnableID]*runnable
	owned  map[events.RunnableID]uint64    // scopes
	folds  map[events.RunnableID]bool      // an element of what it goes through is folded
	kept   map[events.RunnableID]keptCount // what runnables count
	keeps  map[events.RunnableID]keptCount // what the rows are
	found  tally
}

// tally is what a header counts, too.
type tally struct {
	ready, queued, waiting, asking, active, slots, uncertain, failed, skipped, cancelled, timers uint64
}

// counted is the tally by the header, with the timers that runnables and the drain have.
func (c *census) counted(h *header) tally {
	t := tally{h.Ready, h.Ready, h.Waiting, h.Asking, h.Active, h.Slots, h.uncertain(), h.Halted, h.Skipped, h.Cancelled, c.found.timers}
	if h.Failed != h.Halted {
		t.failed = h.Failed
	}
	if h.SettledNext > 0 { // some are forgotten, and were
		t.skipped, t.cancelled = c.found.skipped, c.found.cancelled
	}
	return t
}

func (w *walk) census(h *header) *census {
	w.t.Helper()
	c := &census{map[events.ScopeID]uint64{}, map[events.ScopeID]uint64{}, map[events.RunnableID]*runnable{}, map[events.RunnableID]uint64{}, map[events.RunnableID]bool{}, map[events.RunnableID]keptCount{}, map[events.RunnableID]keptCount{}, tally{}}
	for _, o := range h.Scopes {
		c.scopes[o.Scope] = o.Open
	}
	timers := 0
	if h.Until != 0 {
		timers++
	}
	for _, k := range w.state.Keys() {
		switch r := w.state.Get(k, nil).(type) {
		case *runnable:
			timers += c.runnable(events.RunnableID(k.A), r)
		case *events.Work:
			if counted(r) {
				c.open[r.Scope]++
			}
		case *scope:
			c.scopes[events.ScopeID(k.A)] = r.Open
			if r.Outer != 0 {
				c.open[r.Outer]++
				c.owned[r.Owner]++
			}
		case *keptSignal:
			timers++
		case *keptRow:
			n := c.keeps[events.RunnableID(k.A)]
			c.keeps[events.RunnableID(k.A)] = keptCount{n.Keys + 1, n.Bytes + uint64(len(k.Sub)+len(r.Value))}
		case *fold:
			if r.Busy != 0 {
				c.folds[r.Owner] = true
			}
		case *present:
			if k.Table == rows.Ready {
				c.found.queued++
			}
		case *machine.Timer:
			c.found.timers++
		}
	}
	if c.found.timers != uint64(timers) {
		w.t.Fatalf("%s: there are %d timers for %d", h.Status, c.found.timers, timers)
	}
	return c
}

// runnable counts one, and says how many timers it has.
func (c *census) runnable(id events.RunnableID, r *runnable) (timers int) {
	count := map[RunnableStatus]*uint64{
		runReady: &c.found.ready, runWaiting: &c.found.waiting, runActive: &c.found.active,
		runFailed: &c.found.failed, runSkipped: &c.found.skipped, runCancelled: &c.found.cancelled,
		runUncertain: &c.found.uncertain,
	}
	*count[r.Status]++
	if r.Status.open() || r.Status == runFailed {
		c.open[r.Scope]++
	}
	if r.delivered() {
		c.found.slots++
	}
	if r.Permit != nil && r.Permit.Room {
		c.found.asking++
	}
	if r.Fanned != nil {
		c.fanned[id] = r
	}
	if r.Kept != nil {
		c.kept[id] = *r.Kept
	}
	for _, due := range []int64{r.Due, r.Deadline, r.limit().startDue(), r.limit().Whole, r.limit().Silent} {
		if due != 0 {
			timers++
		}
	}
	return timers
}

// stuck says what is to follow and does not, when nothing is in hand; empty: nothing.
func (c *census) stuck(h *header) string {
	if h.Status.closed() {
		return ""
	}
	for id, n := range c.scopes {
		if n == 0 {
			return fmt.Sprintf("nothing is open in scope %s, which is there", id)
		}
	}
	for id, r := range c.fanned {
		if r.Status == runWaiting && r.Fanned.Open == 0 && !c.folds[id] {
			return fmt.Sprintf("%s waits for scopes, and none is open", id)
		}
	}
	switch {
	case h.Status.winding(), h.Status == Stopping && h.Slots == 0:
		return "it does not end"
	case h.Status == Running && h.Halted > 0:
		return "it has failed and runs"
	case h.Status == Running && h.Ready > 0 && h.Slots+h.Asking < 3:
		return "what is ready has room and is not admitted"
	case h.Status == Running && h.open() == 0:
		return "nothing is open"
	}
	return ""
}
