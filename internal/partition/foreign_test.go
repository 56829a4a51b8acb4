package partition

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// foreign opens a transaction of another system in commands, with one record.
func (r *rig) foreign(workflow string) *kgo.Client {
	r.t.Helper()
	return r.hide(r.names.Commands(), r.partitionOf(workflow))
}

// questionWithin asks with a deadline and returns the id that its answer will have.
func (r *rig) questionWithin(workflow string, d time.Duration) string {
	r.t.Helper()
	r.seq++
	id := fmt.Sprintf("q%d", r.seq)
	q := &events.Query{Kind: "workflow", Workflow: workflow, Deadline: time.Now().Add(d).UnixMilli(), ReplyTo: events.ReplyTo{Address: "tester", ID: id}}
	r.must(r.producer.ProduceSync(context.Background(), kafka.Keyed(r.names.Queries(), []byte(workflow), wire.Marshal(q))).FirstErr())
	return id
}

// What was acknowledged to its writer is read, whatever transaction of another
// system is open in front of it, committed or not in the end.
func TestE6AReadWaitsForWhatAnOpenTransactionHides(t *testing.T) {
	for _, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		t.Run(fmt.Sprintf("commit=%v", end), func(t *testing.T) {
			inBubble(t, func(r *rig) {
				p := r.partitionOf("w")
				s := r.start("a", p)
				defer s.leave()
				s.await(Owning)
				other := r.foreign("w")
				r.send("w", "start", `{"definition":"counter"}`) // acknowledged
				id := r.questionWithin("w", 20*time.Second)
				<-time.After(5 * time.Second)
				r.must(other.EndTransaction(context.Background(), end))
				reply := r.reply(id, 1)
				if reply.Refusal != nil {
					t.Fatalf("the read of what was acknowledged got %+v", reply.Refusal)
				}
				if !json.Valid(reply.Body) {
					t.Errorf("it got %q", reply.Body)
				}
			})
		})
	}
}

// A client that asks behind a transaction that stays open is told so before nobody waits any
// more, and a later question is answered.
func TestE6AReadThatATransactionHoldsUpSaysSo(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		s := r.start("a", p)
		defer s.leave()
		r.do("w", "start", `{"definition":"counter"}`)
		other := r.foreign("w")
		asked := time.Now()
		reply := r.reply(r.questionWithin("w", 5*time.Second), 1)
		if reply.Refusal == nil || reply.Refusal.Code != "open_transaction" {
			t.Errorf("the read got %+v", reply)
		}
		if took := time.Since(asked); took < 3*time.Second || took > 5*time.Second {
			t.Errorf("it was told after %v of 5 s", took)
		}
		r.must(other.EndTransaction(context.Background(), kgo.TryAbort))
		r.query("w")
	})
}
