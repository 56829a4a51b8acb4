package planner

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	keylimits "github.com/heddle-run/heddle/services/planner/limits"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// walkedPolicies has every policy by which a runnable waits, falls back or is in doubt, in elements, races, folds and states.
const walkedPolicies = `{"name":"d","options":{"max_concurrency":3},"components":{
	"n":{"expr":"len(input)"},
	"beside":{"step":"f.id","policy":{"execution_mode":"external","timeout":"20s","concurrency":{"key":"'e'","limit":1},
		"fallback":{"retry_with":{"context":{"n":1}}}}},
	"told":{"accumulate":{"step":"f.gather"},"init":0,"after":"n","policy":{"concurrency":{"key":"'k'","limit":2},"on_lost":"hold","on_failure":"skip"}},
	"lists":{"map":"input","parallel":2,"tolerate":1,"do":{
		"x":{"step":"f.id","policy":{"concurrency":{"key":"'k'","limit":2},"rate_limit":{"key":"'r'","limit":2,"per":"4s"},"on_lost":"hold",
			"deadline":"30s","max_retries":1}},
		"y":{"step":"f.id","after":"x","policy":{"on_lost":{"probe":"f.probed-failed"},"fallback":{"value":7},"start_timeout":"3s",
			"priority":"high","concurrency":{"key":"'k'","limit":2}}},
		"z":{"step":"f.boom","after":"x","policy":{"fallback":{"task":"f.id"},"rate_limit":{"key":"'r'","limit":2,"per":"4s"},"on_failure":"skip"}},
		"bad":{"step":"f.id","after":"x","policy":{"concurrency":{"key":"len(input) > 1 ? 'k' : input[0] / 0","limit":2},"on_failure":"skip"}},
		"won":{"expr":"1","after":{"first":{"of":["y","z","bad"]}}}}},
	"sum":{"reduce":"lists.won","init":0,"with":{"step":"f.fold"},"policy":{"concurrency":{"key":"'k'","limit":2},"fallback":{"expr":"0"},
		"deadline":"9s","on_lost":{"probe":"f.probed-not_done"},"max_lost":1}},
	"end":{"step":"f.id","in":{"s":"sum?","t":"told?"},"policy":{"max_retries":1,"rate_limit":{"key":"'r'","limit":2,"per":"4s"},"on_lost":"hold"}}}}`

// TestWalksThroughPolicies is TestWalks with what keys say under way, lost attempts whose outcome comes after all, and
// decisions about these. No attempt that needs a permit of a key is open without one; in the end no permit is out.
func TestWalksThroughPolicies(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &walk{newWorld(t, setting{seed: seed + 1, restart: seed%4 == 0}), rand.New(rand.NewPCG(seed, 11))}
			w.fits("d", walkedPolicies)
			w.held, w.slow = true, true
			w.startsWith(`[[1,2],[3]]`)
			for range 200 {
				if w.r.IntN(2) == 0 {
					w.move()
				} else {
					w.moveOfPolicies()
				}
				w.consistent()
				w.permitted()
			}
			w.slow = false
			w.deliverGrants()
			w.rests()
			w.cleared()
			w.ends()
			w.keysRest()
		})
	}
}

// moveOfPolicies does something that move does not.
func (w *walk) moveOfPolicies() {
	switch n := w.r.IntN(8); {
	case n < 3 && len(w.granted) > 0: // in any order, and some twice
		i := w.r.IntN(len(w.granted))
		m := w.granted[i]
		if w.r.IntN(5) > 0 {
			w.granted = append(w.granted[:i:i], w.granted[i+1:]...)
		}
		w.decide(machine.Input{Workflow: m.to, Source: events.FromInbox, Inbox: m.said})
	case n == 3 && len(w.vanished) > 0:
		w.deliver(w.execute(w.vanished[w.r.IntN(len(w.vanished))]))
	case n == 4:
		if task, ok := w.next(); ok {
			w.vanish(task)
		}
	case n == 5:
		w.settled()
	case n == 6:
		w.command("w", "retry", fmt.Sprintf(`{"runnables":["r%d"]}`, 1+w.r.IntN(20)))
	default:
		w.later(int64(w.r.IntN(3000)))
	}
}

// vanish loses an attempt whose worker has it.
func (w *walk) vanish(task events.Task) {
	token, err := events.PeekToken(task.Token)
	w.must(err)
	w.vanished = append(w.vanished, task)
	w.decide(machine.Input{
		Workflow: "w", Source: events.FromEngine, Lost: &machine.Lost{Runnable: token.Runnable, Attempt: token.Attempt, Reason: "gone"},
	})
}

// settled says what became of an attempt by its token.
func (w *walk) settled() {
	for _, v := range w.openRunnables("w") {
		if v.Token != nil && w.r.IntN(2) == 0 {
			w.command("w", []string{"complete", "fail"}[w.r.IntN(2)], fmt.Sprintf(`{"token":%q,"result":1,"error":{"type":"x","message":"y"}}`, *v.Token))
			return
		}
	}
}

// permitted checks that what is open holds what its key has granted.
func (w *walk) permitted() {
	w.t.Helper()
	for _, k := range w.state.Keys() {
		r, is := w.state.Get(k, nil).(*runnable)
		if !is || r.Status != runActive {
			continue
		}
		if r.policy().Concurrency.Key == "" {
			continue
		}
		if r.Permit == nil || r.Permit.rate() {
			w.t.Fatalf("r%d is open without a permit: %+v", k.A, r)
		}
		w.issued(events.PermitID{Workflow: "w", Runnable: events.RunnableID(k.A), Asked: r.Permit.Asked}, r.Permit.Key)
	}
}

// issued checks that a key knows a permit as granted.
func (w *walk) issued(p events.PermitID, key string) {
	w.t.Helper()
	_, name, err := events.ParseKeyID(key)
	w.must(err)
	held := keylimits.Machine{}.Query(rows.Begin(&w.keys), w.now, &events.Query{Kind: "key", Workflow: key})
	if held.Refusal != nil || !strings.Contains(string(held.Body), `"`+p.Runnable.String()+`"`) {
		w.t.Fatalf("%s is open, and the key %s has not granted it: %s", p, name, held.Body)
	}
}

// keysRest checks that keys have nothing left, once their times are over.
func (w *walk) keysRest() {
	w.t.Helper()
	for k := nextTimer(&w.keys); k != nil; k = nextTimer(&w.keys) {
		w.now = max(w.now, int64(k.A))
		w.keyDecides(machine.Input{Workflow: k.Workflow, Source: events.FromTimer, Timer: k})
		w.deliverGrants()
	}
	for _, k := range w.keys.Keys() {
		w.t.Fatalf("%+v is left: %+v", k, w.keys.Get(k, nil))
	}
}
