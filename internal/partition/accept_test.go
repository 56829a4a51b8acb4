package partition

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// accept is an operator who goes on without some records of a log.
func (r *rig) accept(p int32, log string, from, to int64) (id string) {
	r.t.Helper()
	r.seq++
	id = fmt.Sprintf("accept-%d", r.seq)
	r.sendAs(id, p, events.PartitionWorkflow(p), "accept_loss", fmt.Sprintf(`{"log":%q,"from":%d,"to":%d,"by":"ann","why":"the disk is gone"}`, log, from, to))
	return id
}

// held are the workflows that the journal says were quarantined, in its order.
func (r *rig) held(p int32) (names []string) {
	r.t.Helper()
	for _, rec := range r.lawful(p) {
		for _, e := range rec.Events {
			if paused, ok := e.(*events.WorkflowPaused); ok && paused.Quarantine != "" {
				names = append(names, rec.Workflow)
			}
		}
	}
	return names
}

// A partition whose unread inputs are gone waits for an operator's word about exactly
// these, holds the workflows that they may have concerned, and goes on.
func TestALossWaitsForAnOperatorsWord(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 2)
		r.settled("w")
		a.leave()
		from := r.end(r.names.Commands(), p)
		r.send("w", "input", `{"input": 7}`) // never read
		r.send("w", "input", `{"input": 7}`)
		r.purge(r.names.Commands(), p, from+2)
		epoch := r.epochs(p)
		b := r.start("b", p)
		defer b.leave()
		why := b.await(Blocked).Why
		for _, part := range []string{"commands partition", fmt.Sprintf("offsets %d to %d are gone unread", from, from+1), fmt.Sprintf("accept-loss %d --log commands --from %d --to %d", p, from, from+2)} {
			if !strings.Contains(why, part) {
				t.Errorf("it is blocked by %q, which lacks %q", why, part)
			}
		}
		r.accept(p, events.FromCommands.String(), from, from+1) // another range
		r.accept(p, events.FromInbox.String(), from, from+2)    // another log
		<-time.After(30 * time.Second)
		b.await(Blocked)
		if r.has(p, "InputLost") != 0 || r.epochs(p) != epoch {
			t.Error("the owner took over, or passed the loss by, without an operator's word")
		}
		id := r.accept(p, events.FromCommands.String(), from, from+2)
		b.await(Owning)
		if got := r.reply(id, 1); got.Result != events.ResultDone {
			t.Errorf("the operator got %+v", got)
		}
		if got := r.held(p); len(got) != 1 || got[0] != "w" || r.has(p, "QuarantineEnded") != 1 {
			t.Errorf("quarantined are %q, over it is %d times", got, r.has(p, "QuarantineEnded"))
		}
		for _, rec := range r.lawful(p) {
			for _, e := range rec.Events {
				if lost, ok := e.(*events.InputLost); ok && (lost.By != events.By{Who: "ann", Why: "the disk is gone"} || lost.From != from || lost.To != from+2) {
					t.Errorf("journaled is %+v", lost)
				}
			}
		}
		r.do("w", "input", `{"input": 7}`)
		if sum := r.settled("w"); sum != 21 {
			t.Errorf("sum is %d, want 21", sum)
		}
	})
}

// epochs counts the takeovers of a partition.
func (r *rig) epochs(p int32) int { return r.has(p, "AuthorityAcquired") }

// The word that accepted one loss is none about the next one, though it be as long.
func TestAWordAcceptsOneLoss(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 1)
		r.settled("w")
		a.leave()
		lose := func() int64 {
			from := r.end(r.names.Commands(), p)
			r.send("w", "input", `{"input": 7}`)
			r.purge(r.names.Commands(), p, from+1)
			return from
		}
		from := lose()
		b := r.start("b", p)
		b.await(Blocked)
		r.accept(p, events.FromCommands.String(), from, from+1)
		b.await(Owning)
		if got := r.reply(r.accept(p, events.FromCommands.String(), from, from+1), 1); got.Refusal == nil || got.Refusal.Code != "no_loss" {
			t.Errorf("without a loss the operator got %+v", got)
		}
		b.leave()
		lose()
		c := r.start("c", p)
		defer c.leave()
		c.await(Blocked)
		<-time.After(20 * time.Second)
		c.await(Blocked)
	})
}

// Of a lost inbox only workflows with open attempts are concerned; what their workers said
// is asked for again.
func TestALossOfTheInboxConcernsOpenAttemptsOnly(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		idle := r.another(p)
		a := r.start("a", p)
		r.do(idle, "start", `{"definition":"counter"}`)
		r.counted("w", 1) // nobody runs its attempt
		a.leave()
		from := r.end(r.names.Inbox(), p)
		r.must(r.producer.ProduceSync(context.Background(), kafka.Placed(r.names.Inbox(), p, []byte("w"), []byte("what a worker said"))).FirstErr())
		r.purge(r.names.Inbox(), p, from+1)
		b := r.start("b", p)
		defer b.leave()
		b.await(Blocked)
		r.accept(p, events.FromInbox.String(), from, from+1)
		b.await(Owning)
		r.adder()
		if sum := r.settled("w"); sum != 7 {
			t.Errorf("sum is %d, want 7", sum)
		}
		if got := r.held(p); len(got) != 1 || got[0] != "w" {
			t.Errorf("quarantined are %q, want w", got)
		}
	})
}

// An owner that is killed in the middle of a quarantine has held nobody back for good: the next
// owner begins it again, and nothing goes on before it is over.
func TestAQuarantineSurvivesItsOwner(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		const many = 200 // more than are asked at a time
		for n, i := 0, 0; n < many; i++ {
			if name := fmt.Sprint("many-", i); r.partitionOf(name) == p {
				r.do(name, "start", `{"definition":"counter"}`)
				n++
			}
		}
		a.leave()
		from := r.end(r.names.Commands(), p)
		r.send("w", "input", `{"input": 7}`)
		r.purge(r.names.Commands(), p, from+1)
		r.accept(p, events.FromCommands.String(), from, from+1)
		b := r.start("b", p)
		for r.has(p, "InputLost") == 0 {
			<-time.After(time.Millisecond)
		}
		b.kill()
		c := r.start("c", p)
		defer c.leave()
		c.await(Owning)
		for r.has(p, "QuarantineEnded") == 0 {
			<-time.After(10 * time.Millisecond)
		}
		once := map[string]int{}
		for _, name := range r.held(p) {
			once[name]++
		}
		if len(once) != many {
			t.Errorf("%d workflows are quarantined, want %d", len(once), many)
		}
		for name, n := range once {
			if n != 1 {
				t.Errorf("%s was quarantined %d times", name, n)
			}
		}
	})
}
