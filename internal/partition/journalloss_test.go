package partition

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

var typed = regexp.MustCompile(`accept-loss \d+ --log (\w+) --from (\d+) --to (\d+)`)

// acceptWhy is an operator who types what the reason of a blocked partition says.
func (r *rig) acceptWhy(p int32, why string) (id string) {
	r.t.Helper()
	m := typed.FindStringSubmatch(why)
	if m == nil || m[1] != events.JournalLog {
		r.t.Fatalf("%q has no command about the journal", why)
	}
	from, err := strconv.ParseInt(m[2], 10, 64)
	r.must(err)
	to, err := strconv.ParseInt(m[3], 10, 64)
	r.must(err)
	r.seq++
	id = fmt.Sprintf("accept-%d", r.seq)
	r.sendAs(id, p, events.PartitionWorkflow(p), "accept_loss", fmt.Sprintf(`{"log":"journal","from":%d,"to":%d,"by":"ann","why":"the disk is gone"}`, from, to))
	return id
}

// A partition whose journal lacks what its state rests on waits for an operator's word,
// and goes on from its last checkpoint: as of that, with every workflow that has not
// ended held until somebody resumes it. Whoever has more in a store of its own drops it.
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

// Who has a store that holds more than was accepted drops it: the state of a partition is
// one, whoever serves it.
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
	r.do(events.PartitionWorkflow(p), "checkpoint", `{"by":"ann"}`)
	<-time.After(time.Minute)
	a.kill()
	r.purge(r.names.Journal(), p, r.end(r.names.Journal(), p)-survive)
	r.purge(r.names.State(), p, r.end(r.names.State(), p))
	b := r.start("b", p)
	read := r.end(r.names.Commands(), p)
	r.purge(r.names.Commands(), p, read)
	r.acceptWhy(p, b.await(Blocked).Why)
	r.accept(p, events.FromCommands, 0, read)
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
