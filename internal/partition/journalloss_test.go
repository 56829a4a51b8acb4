package partition

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// acceptWhy is an operator who types what the reason of a blocked partition says.
func (r *rig) acceptWhy(p int32, why string) (id string) {
	r.t.Helper()
	loss, ok := LossIn(why)
	if !ok || loss.Partition != p || loss.Log != events.JournalLog {
		r.t.Fatalf("%q has no command about the journal", why)
	}
	return r.accept(p, loss.Log, loss.From, loss.To)
}

// A partition whose journal lacks what its state rests on waits for an operator's word,
// and goes on from its last checkpoint: as of that, with every workflow that has not
// ended held until somebody resumes it. An owner that has more in a store of its own drops it.
func TestALossOfTheJournalWaitsForAnOperatorsWord(t *testing.T) {
	for name, lose := range map[string]func(r *rig, p int32){
		"begins later":  func(r *rig, p int32) { r.purge(r.names.Journal(), p, r.end(r.names.Journal(), p)-1) },
		"was made anew": func(r *rig, p int32) { r.remake(r.names.Journal()) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.settings.CheckpointInterval = time.Hour
				r.settings.FullCheckpoint = time.Hour
				p := r.partitionOf("w")
				r.adder()
				a := r.start("a", p)
				r.counted("w", 2)
				r.settled("w")
				a.leave() // its checkpoint has all
				a = r.start("a", p)
				a.await(Owning)
				r.do("w", "input", `{"input": 7}`)
				late := r.another(p)
				r.do(late, "start", `{"definition":"counter"}`)
				r.settled("w")
				a.kill()
				lose(r, p)
				r.forgetIn("a", p)
				b := r.start("b", p)
				why := b.await(Blocked).Why
				<-time.After(30 * time.Second)
				b.await(Blocked)
				if r.has(p, "JournalLost") != 0 {
					t.Fatal("the loss was passed by without an operator's word")
				}
				id := r.acceptWhy(p, why)
				b.await(Owning)
				if got := r.reply(id, 1); got.Result != events.ResultDone {
					t.Errorf("the operator got %+v", got)
				}
				for r.has(p, "QuarantineEnded") == 0 {
					<-time.After(10 * time.Millisecond)
				}
				held := map[string]int{}
				for _, w := range r.held(p) {
					held[w]++
				}
				if held["w"] != 1 || held[late] != 1 {
					t.Errorf("quarantined are %v, want w and, as its start may have been decided, %s", held, late)
				}
				r.do("w", "input", `{"input": 7}`)
				if sum := r.settled("w"); sum != 28 {
					t.Errorf("sum is %d, want 28", sum)
				}
				b.leave()
				c := r.start("c", p) // from the changelog alone
				c.await(Owning)
				if sum := r.settled("w"); sum != 28 {
					t.Errorf("restored, the sum is %d, want 28", sum)
				}
				c.leave()
			})
		})
	}
}

// An owner that has a store that holds more than was accepted drops it: all owners of a partition
// have the same state.
func TestAStoreThatHoldsWhatWasGivenUpIsDropped(t *testing.T) {
	for name, survive := range map[string]int64{"nothing survives": 0, "its last records survive": 2} {
		t.Run(name, func(t *testing.T) { inBubble(t, func(r *rig) { givenUpBeside(r, survive) }) })
	}
}

func givenUpBeside(r *rig, survive int64) {
	p := r.partitionOf("w")
	r.adder()
	a := r.start("a", p)
	r.counted("w", 2)
	r.settled("w")
	r.do(events.PartitionWorkflow(p), "checkpoint", `{"by":"ann","why":"test"}`)
	<-time.After(time.Minute)
	a.kill()
	r.purge(r.names.Journal(), p, r.end(r.names.Journal(), p)-survive)
	r.purge(r.names.State(), p, r.end(r.names.State(), p))
	b := r.start("b", p)
	read := r.end(r.names.Commands(), p)
	r.purge(r.names.Commands(), p, read)
	r.acceptWhy(p, b.await(Blocked).Why)
	r.accept(p, events.FromCommands.String(), 0, read)
	b.await(Owning)
	r.unknown("w")
	b.kill()
	c := r.start("a", p)
	defer c.leave()
	c.await(Owning)
	r.unknown("w")
}

// unknown holds that nobody knows a workflow.
func (r *rig) unknown(workflow string) {
	r.t.Helper()
	if got := r.do(workflow, "input", `{"input": 7}`); got.Refusal == nil || got.Refusal.Code != "not_found" {
		r.t.Errorf("%s answers %+v, want not_found", workflow, got)
	}
}

// A changelog that has lost a checkpoint is not gone on with: an owner that restores from later ones
// would lack what it had.
func TestAChangelogThatLostACheckpointBlocksThePartition(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 2)
		r.settled("w")
		a.leave()
		r.purge(r.names.State(), p, r.end(r.names.State(), p))
		b := r.start("a", p)
		if why := b.await(Blocked).Why; !strings.Contains(why, "lacks the checkpoint") {
			t.Errorf("it is blocked by %q", why)
		}
		b.kill()
		r.forgetIn("a", p) // the journal has all
		c := r.start("a", p)
		defer c.leave()
		c.await(Owning)
		if sum := r.settled("w"); sum != 14 {
			t.Errorf("sum is %d, want 14", sum)
		}
	})
}

// Wherever a journal is lost, whatever stores are left, and whichever owner is killed while it is
// accepted: the partition goes on, and all who serve it have one state.
func TestJournalLossEquivalence(t *testing.T) {
	for seed := range (crashSeeds() + 3) / 4 {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			inBubbleOf(t, 1, func(r *rig) { journalLosses(r, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func journalLosses(r *rig, rnd *rand.Rand) {
	r.settings.LagRecords = 1 + rnd.Uint64N(60)
	r.settings.CheckpointBytes = 1 << (7 + rnd.IntN(8))
	workflows := []string{"w0", "w1", "m2", "m3"} // m: checkpointed by command only
	r.slowAdder(rnd)
	s := r.served("a", rnd)
	for range 3 + rnd.IntN(3) {
		for range 1 + rnd.IntN(20) {
			w := workflows[rnd.IntN(len(workflows))]
			r.send(w, []string{"start", "input", "input", "input"}[rnd.IntN(4)], `{"definition":"counter"}`)
			r.send(w, "input", fmt.Sprintf(`{"input":%d}`, rnd.Int64N(100)))
			<-time.After(time.Duration(rnd.IntN(300)) * time.Millisecond)
		}
		if rnd.IntN(3) == 0 {
			s.leave()
		} else {
			s.kill()
		}
		r.loseJournal(rnd)
		s = r.served([]string{"a", "b", "c"}[rnd.IntN(3)], rnd)
	}
	<-time.After(5 * time.Minute)
	s.leave()
	live := r.dump(fmt.Sprintf("%s-0", s.name))
	for _, name := range []string{"a", "b", "c", "fresh"} {
		s := r.start(name, 0)
		s.await(Owning)
		s.leave()
		if other := r.dump(name + "-0"); !maps.Equal(live, other) {
			r.t.Errorf("the store of %s has %d rows, that of the last owner %d, or they differ", name, len(other), len(live))
		}
	}
}

// loseJournal deletes a part of the journal, all of it, or the topic.
func (r *rig) loseJournal(rnd *rand.Rand) {
	r.t.Helper()
	end := r.end(r.names.Journal(), 0)
	switch rnd.IntN(4) {
	case 0:
		r.remake(r.names.Journal())
	case 1:
		r.purge(r.names.Journal(), 0, end)
	default:
		r.purge(r.names.Journal(), 0, max(0, end-rnd.Int64N(20)))
	}
}

// served starts planners until one owns, each killed after a while but the last one, and
// accepts what blocks them.
func (r *rig) served(name string, rnd *rand.Rand) *site {
	r.t.Helper()
	said := map[LossError]bool{}
	for range rnd.IntN(4) {
		s := r.start([]string{"a", "b", "c"}[rnd.IntN(3)], 0)
		r.operates(s, said, time.Duration(rnd.IntN(20_000))*time.Millisecond)
		<-time.After(time.Duration(rnd.IntN(10)) * time.Millisecond)
		s.kill()
	}
	s := r.start(name, 0)
	r.operates(s, said, 10*time.Minute)
	s.await(Owning)
	return s
}

// operates is an operator who accepts what blocks a planner, once each, until it owns or
// the time is over.
func (r *rig) operates(s *site, said map[LossError]bool, within time.Duration) {
	r.t.Helper()
	for until := time.Now().Add(within); time.Now().Before(until); <-time.After(10 * time.Millisecond) {
		at := s.owners[0].Status()
		if at.State == Owning {
			return
		}
		if loss, ok := LossIn(at.Why); at.State == Blocked && ok && !said[loss] {
			said[loss] = true
			r.acceptWhy(0, at.Why)
		}
	}
}
