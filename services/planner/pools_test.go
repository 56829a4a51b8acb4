package planner

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/wire"
)

const images = "pool:images"

// pooled is a workflow with one step, whose attempts go to a pool.
func pooled(t *testing.T, policy string) *world {
	t.Helper()
	w := newWorld(t, setting{name: "plain"})
	if wrong := w.define("d", "name: d\ncomponents: {s: {step: f.inc, policy: "+policy+"}}\noutputs: {s: s}"); wrong != "" {
		t.Fatal(wrong)
	}
	var said bytes.Buffer
	w.line(&said, "start w d 5")
	return w
}

// tellEntity tells another entity what a workflow says to it.
func (w *world) tellEntity(from string, e machine.Effect) {
	w.tellKey(from, e)
	w.offers(e)
}

// offers notes an attempt that is offered to a pool, as one that was dispatched.
func (w *world) offers(e machine.Effect) {
	m := events.PoolMessage{}
	if strings.HasPrefix(e.Key, events.PoolPrefix) {
		w.must(wire.Unmarshal(e.Value, &m))
		if m.Verb == events.PoolOffer {
			w.published[string(m.Token)] = e
		}
	}
}

// toPool is what a pool was told, oldest first.
func (w *world) toPool() (all []events.PoolMessage) {
	w.t.Helper()
	for _, e := range w.told {
		if e.Kind == machine.MessageEffect && strings.HasPrefix(e.Key, events.PoolPrefix) {
			m := events.PoolMessage{}
			w.must(wire.Unmarshal(e.Value, &m))
			all = append(all, m)
		}
	}
	return all
}

func verbs(all []events.PoolMessage) (v []events.PoolVerb) {
	for _, m := range all {
		v = append(v, m.Verb)
	}
	return v
}

func (w *world) poolSays(verb events.PoolVerb, token []byte) []events.Event {
	w.t.Helper()
	m := events.PoolMessage{Verb: verb, Token: token, Reason: "its runner is gone"}
	return w.decide(machine.Input{Workflow: "w", Source: events.FromInbox, Inbox: &events.EntityMessage{From: images, Body: wire.Marshal(&m)}})
}

func (w *world) wantVerbs(want ...events.PoolVerb) []events.PoolMessage {
	w.t.Helper()
	all := w.toPool()
	if !slices.Equal(verbs(all), want) {
		w.t.Fatalf("the pool was told %v, want %v", verbs(all), want)
	}
	if len(w.tasks) > 0 {
		w.t.Fatalf("%d tasks went to workers", len(w.tasks))
	}
	return all
}

func TestAnAttemptIsOfferedToItsPool(t *testing.T) {
	w := pooled(t, "{executor: 'pool:images', priority: high}")
	m := w.wantVerbs(events.PoolOffer)[0]
	var task events.Task
	w.must(wire.Unmarshal(m.Task, &task))
	if task.Task != "f.inc" || string(task.Input) != "5" || string(task.Token) != string(m.Token) || m.Queue != "f" {
		t.Errorf("%+v of %+v", task, m)
	}
	if list := w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskNotified{Token: m.Token, Channel: "runner", Executor: "a", Detached: true}}); len(list) != 1 {
		t.Errorf("that a runner has it made %d events", len(list))
	}
	if list := w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskNotified{Token: m.Token, Channel: "runner", Executor: "a", Detached: true}}); len(list) != 0 {
		t.Errorf("that it has it still made %d events", len(list))
	}
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: m.Token, Outcome: events.OutcomeCompleted, Result: []byte("6"), Executor: "a"}})
	w.wantVerbs(events.PoolOffer) // its runner has told that its slot is free
	if s := w.status("w"); s.Status != "idle" {
		t.Errorf("%+v", s)
	}
}

func TestAnAttemptThatIsLostIsOfferedAgain(t *testing.T) {
	w := pooled(t, "{executor: 'pool:images'}")
	first := w.wantVerbs(events.PoolOffer)[0].Token
	w.poolSays(events.PoolLost, first)
	second := w.wantVerbs(events.PoolOffer, events.PoolOffer)[1].Token
	if list := w.poolSays(events.PoolLost, first); len(list) > 0 {
		t.Errorf("the loss of what has ended made %+v", list)
	}
	w.poolSays(events.PoolReturn, second)
	all := w.wantVerbs(events.PoolOffer, events.PoolOffer, events.PoolOffer)
	token, err := events.PeekToken(all[2].Token)
	if err != nil || token.Attempt != 3 {
		t.Errorf("%+v, %v", token, err)
	}
	if r := w.openRunnables("w"); len(r) != 1 || len(r[0].Attempts) != 2 {
		t.Errorf("an attempt that was returned counts: %+v", r)
	}
}

func TestWhatIsNotWantedIsWithdrawn(t *testing.T) {
	for name, c := range map[string]struct {
		policy string
		line   string
		want   []events.PoolVerb
	}{
		"cancelled":     {"{executor: 'pool:images'}", "cancel w", []events.PoolVerb{events.PoolOffer, events.PoolWithdraw}},
		"deleted":       {"{executor: 'pool:images'}", "delete w {\"force\": true}", []events.PoolVerb{events.PoolOffer, events.PoolWithdraw}},
		"not begun":     {"{executor: 'pool:images', start_timeout: 1m}", "advance 60000", []events.PoolVerb{events.PoolOffer, events.PoolWithdraw}},
		"past its time": {"{executor: 'pool:images', deadline: 1m}", "advance 60000", []events.PoolVerb{events.PoolOffer, events.PoolWithdraw}},
	} {
		t.Run(name, func(t *testing.T) {
			w := pooled(t, c.policy)
			var said bytes.Buffer
			w.line(&said, c.line)
			all := w.wantVerbs(c.want...)
			if string(all[0].Token) != string(all[1].Token) {
				t.Error("another attempt is withdrawn")
			}
		})
	}
}

func TestAQueueIsBoundToAPool(t *testing.T) {
	for policy, pool := range map[string]string{"{max_retries: 1}": images, "{executor: workers}": "", "{executor: 'pool:other'}": "pool:other"} {
		w := newWorld(t, setting{name: "plain"})
		w.p.cfg.Pools = map[string]string{"f": "images"}
		if wrong := w.define("d", "name: d\ncomponents: {s: {step: f.inc, policy: "+policy+"}}"); wrong != "" {
			t.Fatal(wrong)
		}
		var said bytes.Buffer
		w.line(&said, "start w d 5")
		switch {
		case pool == "" && len(w.tasks) != 1:
			t.Errorf("%s: %d tasks went to workers", policy, len(w.tasks))
		case pool != "" && (len(w.tasks) != 0 || len(w.told) != 1 || w.told[0].Key != pool):
			t.Errorf("%s: %+v", policy, w.told)
		}
	}
}

func (w *world) moves() []events.Event {
	w.t.Helper()
	r := w.openRunnables("w")[0]
	return w.decide(machine.Input{Workflow: "w", Source: events.FromEngine, Lost: &machine.Lost{Runnable: 1, Attempt: r.Attempt, Moved: true}})
}

// A queue that is bound to a pool, and to its workers again, while work waits in it: the work goes along, and who had it
// hears of that. What somebody has begun stays.
func TestWorkThatWaitsGoesWhereItsQueueIsBound(t *testing.T) {
	w := pooled(t, "{max_retries: 1}")
	if len(w.tasks) != 1 {
		t.Fatalf("%d tasks went to workers", len(w.tasks))
	}
	if list := w.moves(); len(list) > 0 {
		t.Errorf("an attempt that is where it is to be was moved: %+v", list)
	}
	first := w.tasks[0].Token
	w.p.cfg.Pools = map[string]string{"f": "images"}
	w.moves()
	if len(w.tasks) != 1 || !w.cancelled[string(first)] {
		t.Errorf("%d tasks went to workers, the first is cancelled: %t", len(w.tasks), w.cancelled[string(first)])
	}
	w.tasks = nil
	offer := w.wantVerbs(events.PoolOffer)[0]
	w.p.cfg.Pools = nil
	w.moves()
	if all := verbs(w.toPool()); !slices.Equal(all, []events.PoolVerb{events.PoolOffer, events.PoolWithdraw}) || len(w.tasks) != 1 {
		t.Errorf("the pool was told %v, and %d tasks went to workers", all, len(w.tasks))
	}
	if list := w.poolSays(events.PoolLost, offer.Token); len(list) > 0 {
		t.Errorf("the loss of what the pool does not have made %+v", list)
	}
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskNotified{Token: w.tasks[0].Token, Executor: "x"}})
	w.p.cfg.Pools = map[string]string{"f": "images"}
	if list := w.moves(); len(list) > 0 {
		t.Errorf("an attempt that a worker has begun was moved: %+v", list)
	}
	if r := w.openRunnables("w"); len(r[0].Attempts) != 1 {
		t.Errorf("an attempt that has moved counts: %+v", r[0].Attempts)
	}
}

// A pool that takes back what a runner has begun, as it says, has lost it.
func TestWhatHasBegunIsNotReturned(t *testing.T) {
	w := pooled(t, "{executor: 'pool:images', on_lost: hold}")
	m := w.wantVerbs(events.PoolOffer)[0]
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskNotified{Token: m.Token, Channel: "runner", Executor: "a", Detached: true}})
	w.poolSays(events.PoolReturn, m.Token)
	if r := w.openRunnables("w"); r[0].Status != "uncertain" {
		t.Errorf("%+v", r[0])
	}
}

// A pool is asked whether it has an attempt that is open, also one that a runner has begun, and of one that is not nobody asks.
func TestAPoolIsAskedForAnAttempt(t *testing.T) {
	w := pooled(t, "{executor: 'pool:images'}")
	ask := func(attempt uint32) []events.Event {
		return w.decide(machine.Input{Workflow: "w", Source: events.FromEngine, Lost: &machine.Lost{Runnable: 1, Attempt: attempt, Unsure: true}})
	}
	ask(1)
	m := w.wantVerbs(events.PoolOffer, events.PoolInquire)
	if !bytes.Equal(m[0].Token, m[1].Token) || w.told[1].Key != images {
		t.Errorf("%+v is asked for at %s", m[1], w.told[1].Key)
	}
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskNotified{Token: m[0].Token, Channel: "runner", Executor: "a", Detached: true}})
	ask(1)
	w.poolSays(events.PoolReturn, m[0].Token) // what became of it was lost
	if again := w.wantVerbs(events.PoolOffer, events.PoolInquire, events.PoolInquire, events.PoolOffer)[3].Token; bytes.Equal(again, m[0].Token) {
		t.Error("the same attempt is offered again")
	}
	if list := ask(1); len(list) > 0 {
		t.Errorf("an attempt that is over is asked for: %+v", list)
	}
	if r := w.openRunnables("w"); len(r) != 1 || len(r[0].Attempts) != 2 {
		t.Errorf("%+v", r)
	}
}

// A question for what its workers have is none for a pool.
func TestNoPoolIsAskedForWhatWorkersHave(t *testing.T) {
	w := pooled(t, "{max_retries: 1}")
	if list := w.decide(machine.Input{Workflow: "w", Source: events.FromEngine, Lost: &machine.Lost{Runnable: 1, Attempt: 1, Unsure: true}}); len(list) > 0 {
		t.Errorf("%+v", list)
	}
}

// A pool that asks for an attempt that is not open is told to give it up, also where the workflow is not there any more.
func TestAPoolThatAsksForWhatIsNotOpenIsToldSo(t *testing.T) {
	w := pooled(t, "{executor: 'pool:images'}")
	m := w.wantVerbs(events.PoolOffer)[0]
	if list := w.poolSays(events.PoolInquire, m.Token); len(list) > 0 {
		t.Errorf("that an attempt is open made %+v", list)
	}
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: m.Token, Outcome: events.OutcomeCompleted, Result: []byte("6"), Executor: "a"}})
	w.poolSays(events.PoolInquire, m.Token)
	if told := w.wantVerbs(events.PoolOffer, events.PoolWithdraw)[1]; !bytes.Equal(told.Token, m.Token) {
		t.Errorf("%+v", told)
	}
	var said bytes.Buffer
	w.line(&said, "delete w {\"force\": true}")
	w.poolSays(events.PoolInquire, m.Token)
	w.wantVerbs(events.PoolOffer, events.PoolWithdraw, events.PoolWithdraw)
}
