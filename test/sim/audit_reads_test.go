package sim

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/calls"
)

// readsOf are the answered reads of a workflow's summary in a partition, in the
// order of their questions.
func (w *world) readsOf(p int32) []*calls.Call {
	var all []*calls.Call
	for _, c := range w.audit.callsOf(p) {
		if c.Asked != nil && c.What == calls.Asking+"workflow" && c.Reply.Refusal == nil {
			all = append(all, c)
		}
	}
	return all
}

// liars are ways to tell something else than what was answered to two reads of one
// workflow. Between the first one's answer and the second one's question the
// record was written that the second one tells of.
var liars = map[string]func(first, second calls.Call) calls.Call{
	"an old answer": func(first, second calls.Call) calls.Call {
		second.Reply = first.Reply
		return second
	},
	"an answer of what comes later": func(first, second calls.Call) calls.Call {
		first.Reply = second.Reply
		return first
	},
	"that there is nothing": func(_, second calls.Call) calls.Call {
		second.Reply = events.Reply{Refusal: &events.Refusal{Code: "not_found"}}
		return second
	},
	"another body": func(_, second calls.Call) calls.Call {
		second.Reply.Body = []byte(`{"status":"running"}`)
		return second
	},
	"the same, asked before the workflow was there": func(_, second calls.Call) calls.Call {
		second.Began, second.Ended = 1, 2
		return second
	},
}

// The reads of a sound run agree with its journal. What is told otherwise does
// not.
func TestADoctoredReadIsRefused(t *testing.T) {
	refused := map[string]int{}
	bubble(func() {
		for seed := uint64(1); seed <= 4; seed++ {
			o := options(seed)
			o.Faults = []Fault{}
			w := play(&o)
			for p := range w.owner {
				doctorReads(t, w, int32(p), refused)
			}
		}
	})
	for lie := range liars {
		if refused[lie] == 0 {
			t.Errorf("no seed has two reads for this lie: %s", lie)
		}
	}
}

func doctorReads(t *testing.T, w *world, p int32, refused map[string]int) {
	records, written := w.audit.lawful(p), w.audit.written(p)
	audit := func(c *calls.Call) error {
		w.errs = nil
		w.audit.auditReads(p, []*calls.Call{c}, records, written)
		return w.err()
	}
	var last *calls.Call
	for _, c := range w.readsOf(p) {
		if err := audit(c); err != nil {
			t.Errorf("seed %d: %v", w.o.Seed, err)
		}
		at, _ := c.Told()
		if tick := written[at]; last != nil && last.Workflow == c.Workflow && last.Ended <= tick && tick < c.Began {
			for lie, tell := range liars {
				told := tell(*last, *c)
				if refused[lie]++; audit(&told) == nil {
					t.Errorf("seed %d: %s: %s is taken for lawful from %d to %d", w.o.Seed, lie, calls.ReplyText(told.Reply), told.Began, told.Ended)
				}
			}
		}
		last = c
	}
}

// A log that was made anew has other commands in the places of old ones. A read that
// was asked behind an old one need not know of what the new one brought about.
func TestAReadKnowsNothingOfWhatComesToAnOldPlace(t *testing.T) {
	bubble(func() {
		o := options(1)
		o.Faults = []Fault{}
		w := play(&o)
		places := 0
		for at, ticks := range w.commanded {
			w.commanded[at] = append([]int64{1}, ticks...)
			places++
		}
		for p := range w.owner {
			w.audit.auditReads(int32(p), w.audit.callsOf(int32(p)), w.audit.lawful(int32(p)), w.audit.written(int32(p)))
		}
		if err := w.err(); err != nil || places == 0 {
			t.Errorf("%d places: %v", places, err)
		}
	})
}
