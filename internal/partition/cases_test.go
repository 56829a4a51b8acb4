package partition

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// The cases of authority, replay and persistence that need owners that die and are succeeded, each by its id. Those of
// the lease alone are in internal/runtime, those of readiness in services/readiness.

// operator gives partition 0 an operator's word, and waits until it is done.
func (r *rig) operator(name, body string) {
	r.t.Helper()
	r.seq++
	id := fmt.Sprintf("o%d", r.seq)
	r.sendAs(id, 0, events.PartitionWorkflow(0), name, body)
	if got := r.reply(id, 1); got.Refusal != nil {
		r.t.Fatalf("%s: %+v", name, got.Refusal)
	}
}

// newestRecord follows what is published of partition 0.
type newestRecord struct {
	r  *rig
	mu sync.Mutex
	at []byte
}

func (r *rig) follows() *newestRecord {
	f := &newestRecord{r: r}
	r.tail(r.names.Authority(), func(k *kgo.Record) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.at = k.Value
	})
	return f
}

// last is the newest record; without an owner if it cannot be read.
func (f *newestRecord) last() (rec runtime.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if json.Unmarshal(f.at, &rec) != nil {
		return runtime.Record{}
	}
	return rec
}

// newest is what is published, once it is so.
func (f *newestRecord) newest(what string, is func(*runtime.Record) bool) (rec runtime.Record) {
	f.r.t.Helper()
	f.r.passes(what, func() bool {
		rec = f.last()
		return rec.Authority.Owner != nil && is(&rec)
	})
	return rec
}

func (r *rig) authorityEvents() (names []string) {
	for _, rec := range r.lawful(0) {
		for _, e := range rec.Events {
			if name := events.Name(e); strings.HasPrefix(name, "Authority") {
				names = append(names, name)
			}
		}
	}
	return names
}

func TestAU22AKilledOwnerIsMarkedReleasedAndSucceeded(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		f := r.follows()
		killed := r.killOwnerAfter(0, time.Second)
		b := r.start("b", 0)
		defer b.leave()
		f.newest("the new owner is ready", func(rec *runtime.Record) bool {
			return rec.Authority.Owner != nil && strings.HasPrefix(*rec.Authority.Owner, "b/") && rec.Replay.PendingEvents == 0
		})
		if took := time.Since(killed); took > 13*time.Second {
			t.Errorf("that took %s, for a lease of 10 s", took)
		}
		want := []string{"AuthorityAcquired", "AuthorityMarkedStale", "AuthorityReleased", "AuthorityAcquired"}
		if got := r.authorityEvents(); !slices.Equal(got, want) {
			t.Errorf("the journal has %v, want %v", got, want)
		}
	})
}

func TestAU23AStaleLeaseIsStaleAfterARestart(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		f := r.follows()
		a := r.start("a", 0)
		a.await(Owning)
		r.operator("mark_stale", `{"reason":"odd","by":"ann","why":"test"}`)
		odd := func(rec *runtime.Record) bool {
			return rec.Authority.Stale && rec.Authority.StaleReason != nil && *rec.Authority.StaleReason == "odd"
		}
		f.newest("the mark is published", odd)
		a.kill()
		b := r.start("a", 0)
		defer b.leave()
		b.await(Waiting)
		if rec := f.last(); !odd(&rec) {
			t.Errorf("while the next owner waits, %+v is published", rec.Authority)
		}
		b.await(Owning)
		want := []string{"AuthorityAcquired", "AuthorityMarkedStale", "AuthorityReleased", "AuthorityAcquired"}
		if got := r.authorityEvents(); !slices.Equal(got, want) {
			t.Errorf("the journal has %v, want %v: the mark is not made again", got, want)
		}
	})
}

func TestRP01RP02RP04RP05ARequestToReadAgain(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		f := r.follows()
		r.adder()
		a := r.start("a", 0)
		r.counted("w", 3)
		first := r.send("w", "input", `{"input": 7}`)
		r.reply(first, 1)
		r.settled("w")

		r.operator("request_replay", `{"cursor":"commands@1","by":"ann","why":"test"}`)
		requested := func(rec *runtime.Record) bool { return rec.Replay.Cursor != nil && *rec.Replay.Cursor == "commands@1" }
		f.newest("RP01: the cursor is published", requested)
		if n := r.has(0, "ReplayRequested"); n != 1 {
			t.Errorf("RP01: %d requests are recorded", n)
		}

		a.kill()
		b := r.start("b", 0)
		b.await(Owning)
		f.newest("RP04: the next owner publishes it", func(rec *runtime.Record) bool {
			return strings.HasPrefix(*rec.Authority.Owner, "b/") && requested(rec)
		})

		r.sendAs(first, 0, "w", "input", `{"input": 7}`)
		if again := r.reply(first, 2); again.Refusal != nil {
			t.Errorf("RP05: the command that came again was answered %+v", again)
		}
		if sum, n := r.settled("w"), r.has(0, "InputAccepted"); sum != 28 || n != 4 {
			t.Errorf("RP05: the sum is %d of %d inputs, want 28 of 4", sum, n)
		}

		r.operator("request_replay", `{"by":"ann","why":"test"}`)
		f.newest("RP02: there is no request", func(rec *runtime.Record) bool { return !requested(rec) })
		b.leave()
	})
}

func TestRP10AnEffectThatNoCommittedOffsetKnowsOfIsThereOnce(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		r.settings.CheckpointInterval, r.settings.FullCheckpoint = time.Hour, time.Hour
		tasks := r.watchTasks()
		r.adder()
		a := r.start("a", 0)
		r.counted("w", 3)
		r.settled("w")
		a.kill()
		b := r.start("b", 0)
		defer b.leave()
		if sum, n := r.settled("w"), r.has(0, "RunnableCompleted"); sum != 21 || n != 3 {
			t.Errorf("the sum is %d of %d outcomes, want 21 of 3", sum, n)
		}
		if n := len(tasks.tasks()); n != 3 {
			t.Errorf("there are %d tasks, want 3", n)
		}
	})
}

func TestPS02ARestartKeepsAuthorityAndBacklog(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		f := r.follows()
		a := r.start("a", 0)
		r.counted("w", 1) // nobody works
		waits := func(rec *runtime.Record) bool { return rec.Backlog.Pending == 1 }
		before := f.newest("the attempt is published", waits)
		a.kill()
		b := r.start("a", 0)
		defer b.leave()
		b.await(Waiting)
		if now := f.newest("it is still there", waits); *now.Authority.Owner != *before.Authority.Owner || *now.Authority.LeaseID != *before.Authority.LeaseID {
			t.Errorf("the lease has become %+v, it was %+v", now.Authority, before.Authority)
		}
		if n, m := r.has(0, "AuthorityAcquired"), r.has(0, "RunnableDispatched"); n != 1 || m != 1 {
			t.Errorf("the journal has %d and %d events, want one of each", n, m)
		}
		b.await(Owning)
		now := f.newest("the next owner has it too", func(rec *runtime.Record) bool { return *rec.Authority.Owner != *before.Authority.Owner && waits(rec) })
		if *now.Backlog.OldestPendingSince != *before.Backlog.OldestPendingSince {
			t.Errorf("it is pending since %s, it was since %s", *now.Backlog.OldestPendingSince, *before.Backlog.OldestPendingSince)
		}
	})
}

func TestPS03APublishedRecordThatIsLostIsMadeAgain(t *testing.T) {
	for what, value := range map[string][]byte{"deleted": nil, "corrupt": []byte(`{"schema_`)} {
		t.Run(what, func(t *testing.T) {
			inBubbleOf(t, 1, func(r *rig) {
				f := r.follows()
				a := r.start("a", 0)
				a.await(Owning)
				defer a.leave()
				r.must(r.producer.ProduceSync(context.Background(), kafka.Placed(r.names.Authority(), 0, authorityKey(0), value)).FirstErr())
				r.passes("it is lost", func() bool { return f.last().Authority.Owner == nil })
				f.newest("a record that can be read is published again", func(rec *runtime.Record) bool { return strings.HasPrefix(*rec.Authority.Owner, "a/") })
			})
		})
	}
}

// Where the ledger is lost it is made again from Kafka; nothing serves only where the journal itself is short.
func TestPS12ALostLedgerIsRestored(t *testing.T) {
	for what, c := range map[string]struct {
		lose func(r *rig)
		want string
	}{
		"the ledger is lost":   {func(*rig) {}, Owning},
		"the journal is short": {func(r *rig) { r.remake(r.names.Journal()) }, Blocked},
	} {
		t.Run(what, func(t *testing.T) {
			inBubbleOf(t, 1, func(r *rig) {
				r.adder()
				a := r.start("a", 0)
				r.counted("w", 1)
				known := r.send("w", "input", `{"input": 7}`)
				r.reply(known, 1)
				r.settled("w")
				a.leave()
				r.forgetIn("a", 0)
				c.lose(r)
				b := r.start("a", 0)
				defer b.loseAll()
				if b.await(c.want); c.want == Blocked {
					return
				}
				r.sendAs(known, 0, "w", "input", `{"input": 7}`)
				r.reply(known, 2)
				if sum := r.settled("w"); sum != 14 {
					t.Errorf("the sum is %d, want 14: what was decided is decided again", sum)
				}
			})
		})
	}
}

// What the reference's mailbox promises holds for the messages between entities: none is announced before it comes, one
// that comes again is known, and one to nobody changes nothing.
func TestPS16PS17MessagesBetweenEntities(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		r.machine = func(*site) machine.Machine { return looptest.Entities(r.counter) }
		r.with(looptest.MovesTopic)
		gossip := r.gossip()
		a := r.start("a", 0)
		purse, jar := r.entity("purse", 0), r.entity("jar", 0)
		r.do(purse, "input", fmt.Sprintf(`{"input":{"to":%q,"amount":5}}`, jar))
		confirmed := func() bool { return r.fund(purse).Confirmed == 1 }
		r.passes("PS16: the message is delivered, and its answer", confirmed)
		for range 2 {
			gossip.all()
		}
		<-time.After(time.Second)
		had := r.fund(jar)
		if had.Amount != 5 || had.Moves != 1 || r.fund(purse).Confirmed != 1 {
			t.Errorf("PS16: what came three times is %+v and %+v", had, r.fund(purse))
		}
		to := kafka.Placed(r.names.Inbox(), 0, []byte("nobody:1"), events.EncodeInbox(&events.EntityMessage{
			From: purse, Decided: events.Position{Epoch: 1, Seq: 1}, Number: 9, Written: time.Now().UnixMilli(), Body: []byte(`{"amount":5}`),
		}))
		r.must(r.producer.ProduceSync(context.Background(), to).FirstErr())
		r.do(purse, "input", fmt.Sprintf(`{"input":{"to":%q,"amount":2}}`, jar))
		r.passes("PS16: a message to nobody keeps none behind it", func() bool { return r.fund(purse).Confirmed == 2 })
		had = r.fund(jar)

		a.kill()
		r.forgetIn("a", 0)
		b := r.start("a", 0)
		defer b.leave()
		b.await(Owning)
		if now := r.fund(jar); now.Amount != had.Amount || now.Moves != had.Moves {
			t.Errorf("PS17: the jar is made again as %+v, it was %+v", now, had)
		}
		gossip.all()
		<-time.After(time.Second)
		if now := r.fund(jar); now.Moves != 2 || now.Amount != 7 {
			t.Errorf("PS17: what it had been told is told to it again: %+v", now)
		}
	})
}

// all tells everything again.
func (g *gossip) all() {
	g.mu.Lock()
	told := slices.Clone(g.told)
	g.mu.Unlock()
	for _, k := range told {
		g.r.must(g.r.producer.ProduceSync(context.Background(), kafka.Keyed(k.Topic, k.Key, k.Value, k.Headers...)).FirstErr())
	}
}
