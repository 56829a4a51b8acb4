package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// stumbling is a cluster in which no forward or letter leaves, or some takeovers fail.
type stumbling struct {
	Cluster
	mute  bool
	falls *atomic.Int32 // takeovers that fail
}

// muteProducer sends nothing that carries an input's own bytes.
type muteProducer struct {
	Producer
	not []string
}

func (p muteProducer) Produce(ctx context.Context, rec *kgo.Record, done func(*kgo.Record, error)) {
	if !slices.Contains(p.not, rec.Topic) {
		p.Producer.Produce(ctx, rec, done)
	}
}

func (c stumbling) Effects() (Producer, error) {
	p, err := c.Cluster.Effects()
	if names, bad := c.Names(); c.mute {
		return muteProducer{p, []string{names.Commands(), names.DLQ()}}, errors.Join(err, bad)
	}
	return p, err
}

type stumblingTxn struct {
	Txn
	falls *atomic.Int32
}

func (t stumblingTxn) Run(ctx context.Context, records []*kgo.Record, commit *kafka.Commit) error {
	if commit == nil && t.falls.Add(-1) >= 0 {
		return &kafka.TxnError{Outcome: kafka.Failed, Err: errors.New("the coordinator is away")}
	}
	return t.Txn.Run(ctx, records, commit)
}

func (c stumbling) Txn(p int32) (Txn, error) {
	txn, err := c.Cluster.Txn(p)
	return stumblingTxn{txn, c.falls}, err
}

// dieBeforeEffects lets an owner journal something whose effect needs the input's
// own bytes, and die before that is out; its successor replays it and ends before
// it has taken over.
func (r *rig) dieBeforeEffects(p int32, event string, send func()) *site {
	r.t.Helper()
	r.settings.NeverRunsTwice = true
	r.settings.CheckpointInterval = time.Hour
	falls := &atomic.Int32{}
	r.over = func(c Cluster) Cluster { return stumbling{c, true, falls} }
	a := r.start("a", p)
	send()
	for r.has(p, event) == 0 {
		<-time.After(20 * time.Millisecond)
	}
	a.kill()
	falls.Store(1)
	r.over = func(c Cluster) Cluster { return stumbling{c, false, falls} }
	b := r.start("a", p)
	b.await(Owning)
	if n := falls.Load(); n >= 0 {
		r.t.Errorf("%d takeovers are to fail yet", n)
	}
	return b
}

func TestAForwardedCommandSurvivesATenureThatEndsBeforeItServes(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		wrong := (p + 1) % r.n
		b := r.dieBeforeEffects(wrong, "InputForwarded", func() {
			r.sendAs("x", wrong, "w", "start", `{"definition":"counter"}`)
		})
		defer b.leave()
		c := r.start("c", p)
		defer c.leave()
		if got := r.reply("x", 1); got.Result != events.ResultDone {
			t.Errorf("the reply is %+v", got)
		}
	})
}

func TestALetterSurvivesATenureThatEndsBeforeItServes(t *testing.T) {
	for event, c := range map[string]struct{ workflow, body string }{
		"InputRejected":       {"cursed", `{no json`},
		"WorkflowQuarantined": {"cursed", `{"input":7}`},
		"CommandRefused":      {"nobody", `{"input":7}`}, // without an address, so that nobody hears of it
	} {
		t.Run(event, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.counter.Panic = "cursed"
				letters := r.letters()
				p := r.partitionOf(c.workflow)
				b := r.dieBeforeEffects(p, event, func() {
					r.must(r.producer.ProduceSync(context.Background(), kafka.Placed(r.names.Commands(), p, []byte(c.workflow), []byte(c.body),
						kafka.Header(events.HeaderType, []byte(events.CommandType("input"))))).FirstErr())
				})
				defer b.leave()
				select {
				case l := <-letters:
					if string(l.Value) != c.body || l.Workflow != c.workflow {
						t.Errorf("the letter is %+v", l)
					}
				case <-time.After(time.Minute):
					t.Error("there is no letter within a minute")
				}
			})
		})
	}
}

// An original that is gone is recorded as such: the journal says that its effect
// never came out, and no recovery looks for it again.
func TestAnOriginalThatIsGoneIsSaid(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		wrong := (p + 1) % r.n
		b := r.dieBeforeEffects(wrong, "InputForwarded", func() {
			r.sendAs("x", wrong, "w", "start", `{"definition":"counter"}`)
			for r.has(wrong, "InputForwarded") == 0 {
				<-time.After(20 * time.Millisecond)
			}
			r.purge(r.names.Commands(), wrong, r.end(r.names.Commands(), wrong))
		})
		for r.has(wrong, "EffectFailed") == 0 {
			<-time.After(20 * time.Millisecond)
		}
		b.leave()
		c := r.start("a", wrong)
		defer c.leave()
		c.await(Owning)
		<-time.After(time.Minute)
		if n := r.has(wrong, "EffectFailed"); n != 1 {
			t.Errorf("%d records say that the effect failed, want 1", n)
		}
	})
}

// One reading of a log finds many originals, in whatever order they are wanted.
func TestOriginalsAreFoundTogether(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		wrong := (p + 1) % r.n
		const n = 40
		b := r.dieBeforeEffects(wrong, "InputForwarded", func() {
			for i := range n {
				r.sendAs(fmt.Sprintf("x%d", i), wrong, "w", "start", `{"definition":"counter"}`)
			}
			for r.has(wrong, "InputForwarded") < n {
				<-time.After(20 * time.Millisecond)
			}
		})
		defer b.leave()
		c := r.start("c", p)
		defer c.leave()
		for i := range n {
			r.reply(fmt.Sprintf("x%d", i), 1)
		}
		if n := r.has(p, "WorkflowStarted"); n != 1 {
			t.Errorf("%d starts, want 1", n)
		}
	})
}
