package partition

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
)

// counted starts a counter and adds n sevens to it.
func (r *rig) counted(workflow string, n int) {
	r.t.Helper()
	r.do(workflow, "start", `{"definition":"counter"}`)
	for range n {
		r.do(workflow, "input", `{"input": 7}`)
	}
}

// lawful are the records of a partition's journal that count.
func (r *rig) lawful(p int32) []*events.Record {
	r.t.Helper()
	reader, err := journal.NewReader(r.cluster.Config)
	r.must(err)
	defer reader.Close()
	var all []*events.Record
	from, err := reader.Begin(context.Background(), p)
	r.must(err)
	_, err = reader.Read(context.Background(), journal.Range{Partition: p, From: from, To: journal.Now}, func(e journal.Entry) error {
		all = append(all, e.Record)
		return nil
	})
	r.must(err)
	return all
}

// has says how often an event stands in a partition's journal.
func (r *rig) has(p int32, name string) int {
	r.t.Helper()
	n := 0
	for _, rec := range r.lawful(p) {
		for _, e := range rec.Events {
			if events.Name(e) == name {
				n++
			}
		}
	}
	return n
}

func TestAKilledOwnerIsSucceededWithoutLossOrRepetition(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 5)
		for range 5 { // in flight when it dies
			r.send("w", "input", `{"input": 7}`)
		}
		a.kill()
		b := r.start("a", p)
		defer b.leave()
		if sum := r.settled("w"); sum != 70 {
			t.Errorf("sum is %d, want 70", sum)
		}
		if n := r.has(p, "RunnableCompleted"); n != 10 {
			t.Errorf("%d outcomes were applied, want 10", n)
		}
	})
}

func TestO2AnotherOwnersLeaseIsWaitedOut(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		a := r.start("a", p)
		a.await(Owning)
		a.kill()
		began := time.Now()
		b := r.start("b", p)
		defer b.leave()
		if at := b.await(Owning); at.Epoch != 2 {
			t.Errorf("epoch is %d, want 2", at.Epoch)
		}
		if waited := time.Since(began); waited < 5*time.Second || waited > 11*time.Second {
			t.Errorf("the successor waited %s for a lease of 10 s", waited)
		}
		if r.has(p, "AuthorityMarkedStale") != 1 || r.has(p, "AuthorityReleased") != 1 {
			t.Error("the take-over is not marked, released and acquired in the journal")
		}
	})
}

// killOwnerAfter kills an owner that has renewed its lease in authority only, and
// says when.
func (r *rig) killOwnerAfter(p int32, tenure time.Duration) time.Time {
	a := r.start("a", p)
	a.await(Owning)
	<-time.After(tenure)
	a.kill()
	return time.Now()
}

func TestO2AStaleMarkShortensNoWait(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		killed := r.killOwnerAfter(p, 30*time.Second)
		b := r.start("b", p)
		defer b.leave()
		b.await(Waiting)
		last := r.lawful(p)
		word := &events.Record{ // an operator's word that was on its way
			Position: events.Position{Epoch: 1, Seq: last[len(last)-1].Position.Seq + 1},
			Time:     time.Now().UnixMilli(), Events: []events.Event{&events.AuthorityMarkedStale{Reason: "doubt"}},
		}
		r.must(r.producer.ProduceSync(context.Background(), journal.Encode(word, r.names, p)).FirstErr())
		b.await(Owning)
		if waited := time.Since(killed); waited < 5*time.Second {
			t.Errorf("the successor waited %s for a lease of 10 s that was renewed", waited)
		}
	})
}

func TestO2AnInstanceThatNeverRunsTwiceDoesNotWait(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.settings.NeverRunsTwice = true
		p := r.partitionOf("w")
		a := r.start("a", p)
		a.await(Owning)
		a.kill()
		began := time.Now()
		b := r.start("a", p)
		defer b.leave()
		b.await(Owning)
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("the same instance waited %s for its own lease", waited)
		}
	})
}

func TestO5ARevokedOwnerLeavesNothingToWaitFor(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 3)
		a.leave()
		began := time.Now()
		b := r.start("b", p)
		defer b.leave()
		b.await(Owning)
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("the successor waited %s", waited)
		}
		if sum := r.settled("w"); sum != 21 {
			t.Errorf("sum is %d, want 21", sum)
		}
	})
}

func TestO2AFencedOwnerThatIsAliveSaysSo(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 2)
		began := time.Now()
		b := r.start("b", p) // the group has moved the partition; a does not know yet
		defer b.leave()
		a.owners[0].lostSoon(t)
		b.await(Owning)
		if waited := time.Since(began); waited > 8*time.Second {
			t.Errorf("the successor waited %s though the older owner was alive", waited)
		}
		a.loseAll()
		r.do("w", "input", `{"input": 7}`)
		if sum := r.settled("w"); sum != 21 {
			t.Errorf("sum is %d, want 21", sum)
		}
	})
}

// lostSoon keeps an owner from claiming again once it was deposed.
func (o *Owner) lostSoon(t *testing.T) {
	t.Helper()
	go func() {
		for o.Status().State == Owning {
			<-time.After(time.Millisecond)
		}
		o.lost()
	}()
}

func TestJ1AZombiesRecordsAreVoid(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 1)
		last := r.lawful(p)
		a.kill()
		b := r.start("a", p)
		b.await(Owning)
		zombie := &events.Record{
			Position: events.Position{Epoch: 1, Seq: last[len(last)-1].Position.Seq + 1}, Workflow: "w", Time: 1,
			Events: []events.Event{&events.WorkflowStarted{Name: "zombie"}},
		}
		r.must(r.producer.ProduceSync(context.Background(), journal.Encode(zombie, r.names, p)).FirstErr())
		r.do("w", "input", `{"input": 7}`)
		b.kill()
		c := r.start("a", p)
		defer c.leave()
		if sum := r.settled("w"); sum != 14 {
			t.Errorf("sum is %d, want 14", sum)
		}
		if n := r.has(p, "WorkflowStarted"); n != 1 {
			t.Errorf("%d starts are lawful, want 1", n)
		}
	})
}

func TestO2AnOperatorsReleaseEndsTheWait(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		a := r.start("a", p)
		a.await(Owning)
		a.kill()
		began := time.Now()
		b := r.start("b", p)
		defer b.leave()
		b.await(Waiting)
		r.sendAs("release", p, events.PartitionWorkflow(p), "force_release", `{"by":"ann","why":"it is dead"}`)
		b.await(Owning)
		if waited := time.Since(began); waited > 2*time.Second {
			t.Errorf("the operator's word took %s", waited)
		}
		r.do("w", "start", `{"definition":"counter"}`)
		if at := b.owners[0].Status(); at.State != Owning || at.Epoch != 2 {
			t.Errorf("the release was obeyed twice: %+v", at)
		}
	})
}

func TestO4AProvenStoreIsUsedAgain(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 3)
		r.settled("w")
		a.leave()
		b := r.start("a", p)
		defer b.leave()
		b.await(Owning)
		if n := b.Stats.Replayed.Load(); n > 2 { // the release and the own takeover
			t.Errorf("%d records were replayed over a proven store", n)
		}
		if sum := r.settled("w"); sum != 21 {
			t.Errorf("sum is %d, want 21", sum)
		}
	})
}

func TestO4AStoreOfAnotherClusterIsDiscarded(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 3)
		r.settled("w")
		a.leave()
		r.tamper(fmt.Sprintf("a-%d", p))
		b := r.start("a", p)
		defer b.leave()
		b.await(Owning)
		if sum := r.settled("w"); sum != 21 {
			t.Errorf("sum is %d, want 21 from the changelog", sum)
		}
	})
}

func TestARestoreNeedsNoHistory(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 20)
		r.settled("w")
		a.leave()
		b := r.start("elsewhere", p)
		defer b.leave()
		b.await(Owning)
		if n := b.Stats.Replayed.Load(); n > 2 {
			t.Errorf("%d records were replayed behind a checkpoint of everything", n)
		}
		if sum := r.settled("w"); sum != 140 {
			t.Errorf("sum is %d, want 140", sum)
		}
		if got := r.reply(r.again("w"), 1); got.Refusal == nil || got.Refusal.Code != "already_started" {
			t.Errorf("start again: %+v", got)
		}
	})
}

func (r *rig) again(workflow string) string {
	return r.send(workflow, "start", `{"definition":"counter"}`)
}

func TestC1AManualWorkflowIsReplayedOverPartitionKeys(t *testing.T) {
	inBubble(t, func(r *rig) {
		workflow := "m"
		p := r.partitionOf(workflow)
		r.adder()
		a := r.start("a", p)
		r.counted(workflow, 4)
		r.settled(workflow)
		<-time.After(3 * time.Second) // checkpoints without the manual workflow
		a.kill()
		b := r.start("elsewhere", p)
		defer b.leave()
		b.await(Owning)
		if n := b.Stats.Replayed.Load(); n < 9 {
			t.Errorf("only %d records were replayed: the manual workflow was checkpointed", n)
		}
		if sum := r.settled(workflow); sum != 28 {
			t.Errorf("sum is %d, want 28", sum)
		}
	})
}

func TestACheckpointCommandMakesAManualWorkflowDue(t *testing.T) {
	inBubble(t, func(r *rig) {
		workflow := "m"
		p := r.partitionOf(workflow)
		r.adder()
		a := r.start("a", p)
		r.counted(workflow, 4)
		r.settled(workflow)
		r.do(workflow, "checkpoint", `{}`)
		<-time.After(3 * time.Second)
		a.kill()
		b := r.start("elsewhere", p)
		defer b.leave()
		b.await(Owning)
		if n := b.Stats.Replayed.Load(); n > 2 {
			t.Errorf("%d records were replayed behind the workflow's checkpoint", n)
		}
		if sum := r.settled(workflow); sum != 28 {
			t.Errorf("sum is %d, want 28", sum)
		}
	})
}

func TestAPublishedRecordSaysWhoOwns(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		seen := make(chan *kgo.Record, 100)
		r.tail(r.names.Authority(), func(k *kgo.Record) { seen <- k })
		a := r.start("a", p)
		defer a.leave()
		k := <-seen
		if string(k.Key) != fmt.Sprint(p) {
			t.Errorf("key is %s", k.Key)
		}
		t.Logf("%s", k.Value)
	})
}
