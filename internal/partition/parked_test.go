package partition

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/machine"
)

// without deletes a topic.
func (r *rig) without(topic string) {
	r.t.Helper()
	adm := kadm.NewClient(r.cluster.Admin(r.t))
	_, err := adm.DeleteTopics(context.Background(), topic)
	r.must(err)
}

// with makes it again.
func (r *rig) with(topic string) {
	r.t.Helper()
	adm := kadm.NewClient(r.cluster.Admin(r.t))
	_, err := adm.CreateTopic(context.Background(), 4, 1, nil, topic)
	r.must(err)
}

// A queue without a topic keeps its tasks waiting, and nothing else: other
// workflows go on, also with the next owner, and once there is a topic each
// attempt is published.
func TestAQueueWithoutATopicStopsNothingElse(t *testing.T) {
	inBubble(t, func(r *rig) {
		const inputs = 100
		r.settings.InflightRecords = 16
		p := r.partitionOf("w")
		tasks := r.names.Tasks("default")
		r.without(tasks)
		a := r.start("a", p)
		r.do("w", "start", `{"definition":"counter"}`)
		for range inputs {
			r.do("w", "input", `{"input": 7}`)
		}
		a.kill()
		b := r.start("a", p)
		defer b.leave()
		b.await(Owning)
		r.do(r.another(p), "start", `{"definition":"counter"}`)
		<-time.After(2 * kafka.EffectTimeout) // the tasks may be produced only just now

		if n := b.Stats.Parked.Load(); n == 0 || n > inputs { // the others wait until there is room
			t.Errorf("%d effects are parked, want some of %d tasks", n, inputs)
		}
		r.with(tasks)
		r.adder()
		<-time.After(time.Minute)
		if sum := r.settled("w"); sum != 7*inputs {
			t.Errorf("sum is %d, want %d", sum, 7*inputs)
		}
		if n := b.Stats.Parked.Load(); n != 0 {
			t.Errorf("%d effects are still parked", n)
		}
	})
}

// another is a workflow of a partition.
func (r *rig) another(p int32) string {
	for i := 0; ; i++ {
		if workflow := fmt.Sprint("other-", i); r.partitionOf(workflow) == p {
			return workflow
		}
	}
}

// A topic that is deleted while its effects are on their way keeps them waiting,
// and nothing else, whatever they are.
func TestATopicThatIsGoneStopsNothingElse(t *testing.T) {
	for name, topic := range map[string]func(r *rig) string{
		"tasks":    func(r *rig) string { return r.names.Tasks("default") },
		"statuses": func(r *rig) string { return r.names.Status() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				const inputs = 100
				r.settings.InflightRecords = 16
				a := r.start("a", r.partitionOf("w"))
				defer a.leave()
				r.do("w", "start", `{"definition":"counter"}`)
				r.do("w", "input", `{"input": 7}`)
				if name == "statuses" {
					r.adder()
				}
				r.without(topic(r))
				for range inputs {
					r.send("w", "input", `{"input": 7}`)
				}
				<-time.After(3 * kafka.EffectTimeout)
				if reply := r.do("w", "input", `{"input": 7}`); reply.Refusal != nil {
					t.Errorf("%+v", reply.Refusal)
				}
				r.with(topic(r))
				<-time.After(3 * kafka.EffectTimeout)
				if n := a.Stats.Parked.Load(); n != 0 {
					t.Errorf("the topic is there again, and %d effects are parked", n)
				}
			})
		})
	}
}

// Of what waits for summaries' log only the newest summary of a workflow counts. Notices go
// there, too, and each of them counts: they wait in a list of their own.
func TestNoticesWaitApartFromSummaries(t *testing.T) {
	d := newDesk(t)
	summary := d.log.Destination(&loop.Outgoing{Kind: machine.StatusEffect, Key: "w"})
	notice := d.log.Destination(&loop.Outgoing{Kind: machine.NoticeEffect, Key: "w"})
	if summary.String() != notice.String() || summary == notice || !summary.Latest || notice.Latest {
		t.Errorf("a summary waits for %+v, a notice for %+v", summary, notice)
	}
}
