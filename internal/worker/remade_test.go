package worker_test

import (
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/events"
)

// An operator who makes a queue's topic or that of the cancellations anew need not restart
// its workers: they take from the new one, from its start, and what ran runs on.
func TestAQueueThatIsMadeAnewIsTakenFrom(t *testing.T) {
	eachProtocol(t, topics.Options{QueuePartitions: 2}, func(t *testing.T, p *workertest.Planner, protocol func(*worker.Config)) {
		start(t, p, 4, handlers{"echo": worker.HandlerFunc(echo), "until": worker.HandlerFunc(until)}, protocol)
		for i := range 5 { // the new log is shorter than what was committed of the old one
			p.Dispatch("default", 0, "w", p.Task("w", "echo", i))
			p.Outcome(10 * time.Second)
		}
		long := p.Task("w", "until", nil)
		p.Dispatch("default", 1, "w", long)
		time.Sleep(time.Second) // it runs, and all is committed
		for round := range 3 {
			p.Remake(t, p.Topics.Tasks("default"))
			p.Remake(t, p.Topics.TaskControl())
			time.Sleep(time.Duration(round) * time.Second)
			for part := range int32(2) {
				task := p.Task("w", "echo", "again")
				p.Dispatch("default", part, "w", task)
				o := p.Outcome(30 * time.Second)
				if string(o.Token) != string(task.Token) || o.Outcome != events.OutcomeCompleted {
					t.Fatalf("round %d: the new topic's attempt ended as %s %+v", round, o.Outcome, o.Error)
				}
			}
		}
		p.Cancel("w", long.Token, "test")
		if o := p.Outcome(30 * time.Second); string(o.Token) != string(long.Token) || o.Outcome == events.OutcomeCompleted {
			t.Fatalf("the attempt of the old topic ended as %s", o.Outcome)
		}
		time.Sleep(time.Second)
		if at := p.Committed("default", 0); at != 1 {
			t.Errorf("of the new topic %d is committed, want 1", at)
		}
	})
}
