package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/events"
)

// counted are runs of a task by workflow.
type counted struct{ n atomic.Int64 }

func (c *counted) echo(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
	c.n.Add(1)
	return echo(ctx, a)
}

func TestTheCommitNeverPassesAnAttemptThatIsNotGuarded(t *testing.T) { // E3
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 4, handlers{"echo": echo, "until": until}, func(c *worker.Config) { c.Grace = 3 * time.Second })
		long := p.Task("w", "until", nil)
		long.Timeout = 60_000
		p.Dispatch("default", 0, "w", p.Task("w", "echo", 0), long, p.Task("w", "echo", 1), p.Task("w", "echo", 2))
		for range 3 {
			p.Outcome(soon)
		}
		time.Sleep(2 * time.Second)
		if at := p.Committed("default", 0); at != 1 {
			t.Errorf("committed %d while the attempt at 1 is neither ended nor notified, want 1", at)
		}
		if _, ok := p.Next(soon).(*events.TaskNotified); !ok {
			t.Fatal("no notification")
		}
		time.Sleep(time.Second)
		if at := p.Committed("default", 0); at != 4 {
			t.Errorf("committed %d after the notification, want 4", at)
		}
	})
}

func TestAttemptsOfAKilledWorkerRunAgain(t *testing.T) { // E3
	eachProtocol(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner, protocol func(*worker.Config)) {
		var c cable
		killed := start(t, p, 4, handlers{"work": until}, c.through, func(c *worker.Config) { c.Name = "killed" }, protocol)
		tasks := []*events.Task{p.Task("w", "work", 1), p.Task("w", "work", 2)}
		p.Dispatch("default", 0, "w", tasks...)
		time.Sleep(100 * time.Millisecond) // within the grace: nobody knows of them
		c.kill(killed)
		start(t, p, 4, handlers{"work": echo}, protocol)
		for range tasks {
			if o := p.Outcome(time.Minute); o.Outcome != events.OutcomeCompleted || o.Executor != "worker-under-test" {
				t.Errorf("%v by %s, want completed by the other worker", o.Outcome, o.Executor)
			}
		}
		if m := p.Within(time.Minute); m != nil {
			t.Errorf("one more report: %+v", m)
		}
	})
}

func TestARepeatedTokenRunsOnce(t *testing.T) { // E2
	workertest.InBubble(t, topics.Options{Partitions: 2}, func(t *testing.T, p *workertest.Planner) {
		var c counted
		slow := func(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
			time.Sleep(time.Second)
			return c.echo(ctx, a)
		}
		start(t, p, 4, handlers{"echo": c.echo, "slow": slow})
		fast, running := p.Task("w", "echo", 1), p.Task("w", "slow", 2)
		p.Dispatch("default", 0, "w", fast, running, running)
		p.Dispatch("default", 1, "w", running, fast) // published again elsewhere
		for range 2 {
			p.Outcome(soon)
		}
		p.Dispatch("default", 1, "w", fast, running) // and after they ended
		time.Sleep(3 * time.Second)
		if n := c.n.Load(); n != 2 {
			t.Errorf("two attempts ran %d times", n)
		}
		if a, b := p.Committed("default", 0), p.Committed("default", 1); a != 3 || b != 4 {
			t.Errorf("committed %d and %d, want 3 and 4: past the repetitions", a, b)
		}
	})
}

// A planner that recovers publishes again what nobody has taken yet: behind a long
// queue, whose first attempts are over when their repetitions are taken.
func TestARepetitionThatHasWaitedForLongDoesNotRun(t *testing.T) { // E2
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		var c counted
		start(t, p, 1, handlers{"slow": func(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
			time.Sleep(time.Minute)
			return c.echo(ctx, a)
		}})
		var queued []*events.Task
		for i := range 3 {
			queued = append(queued, p.Task("w", "slow", i))
		}
		p.Dispatch("default", 0, "w", queued...)
		p.Dispatch("default", 0, "w", queued...)
		for range queued {
			p.Outcome(2 * time.Minute)
		}
		time.Sleep(5 * time.Minute)
		if n := c.n.Load(); n != int64(len(queued)) {
			t.Errorf("%d attempts ran %d times", len(queued), n)
		}
	})
}

func TestARepetitionIsDoneWithItsAttempt(t *testing.T) { // E3
	workertest.InBubble(t, topics.Options{Partitions: 2}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 4, handlers{"slow": func(context.Context, *worker.Attempt) (json.RawMessage, error) {
			time.Sleep(10 * time.Second)
			return nil, nil
		}}, func(c *worker.Config) { c.Grace = time.Hour })
		task := p.Task("w", "slow", nil)
		p.Dispatch("default", 0, "w", task)
		time.Sleep(time.Second)
		p.Dispatch("default", 1, "w", task)
		time.Sleep(time.Second)
		if at := p.Committed("default", 1); at > 0 {
			t.Errorf("committed %d past a repetition of an attempt that nothing guards", at)
		}
		p.Outcome(time.Minute)
		time.Sleep(time.Second)
		if at := p.Committed("default", 1); at != 1 {
			t.Errorf("committed %d after the attempt ended, want 1", at)
		}
	})
}

func TestATokenThatIsPublishedOnPurposeRunsAgain(t *testing.T) { // E3: after 30 s
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		var c counted
		start(t, p, 1, handlers{"echo": c.echo})
		task := p.Task("w", "echo", 1)
		for i := range 2 {
			p.Dispatch("default", 0, "w", task)
			p.Outcome(soon)
			time.Sleep(30 * time.Second)
			if n := c.n.Load(); n != int64(i+1) {
				t.Errorf("published %d times, ran %d times", i+1, n)
			}
		}
	})
}

func TestSlotsBoundWhatRuns(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 2}, func(t *testing.T, p *workertest.Planner) {
		var now, most atomic.Int64
		start(t, p, 2, handlers{"slow": func(context.Context, *worker.Attempt) (json.RawMessage, error) {
			defer now.Add(-1)
			for n := now.Add(1); n > most.Load(); {
				most.Store(n)
			}
			time.Sleep(10 * time.Second) // longer than a queue waits before it stops fetching
			return nil, nil
		}})
		const attempts = 9
		for i := range attempts {
			p.Dispatch("default", int32(i%2), "w", p.Task("w", "slow", nil))
		}
		for i := range attempts {
			if o := p.Outcome(15 * time.Second); o.Outcome != events.OutcomeCompleted {
				t.Errorf("attempt %d: %v", i, o.Outcome)
			}
		}
		if most.Load() != 2 {
			t.Errorf("%d ran at a time, want 2", most.Load())
		}
	})
}

func TestAFullPoolDoesNotKeepMembersOut(t *testing.T) {
	eachProtocol(t, topics.Options{Partitions: 2}, func(t *testing.T, p *workertest.Planner, protocol func(*worker.Config)) {
		start(t, p, 1, handlers{"work": until}, func(c *worker.Config) { c.Name = "full" }, protocol)
		for i := range 8 { // more than its slot and what it polls ahead
			p.Dispatch("default", int32(i%2), "w", p.Task("w", "work", nil))
		}
		time.Sleep(3 * time.Second)
		start(t, p, 1, handlers{"work": echo}, protocol)
		done := 0
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
			if o, ok := p.Within(time.Second).(*events.TaskOutcome); ok && o.Executor == "worker-under-test" {
				done++
			}
		}
		if done < 3 {
			t.Errorf("the free worker ran %d of the waiting attempts, want those of the partition it got", done)
		}
	})
}

func TestAnAttemptRunsOnceThoughItsPartitionMoves(t *testing.T) {
	eachProtocol(t, topics.Options{Partitions: 4}, func(t *testing.T, p *workertest.Planner, protocol func(*worker.Config)) {
		var runs counted
		slow := func(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
			runs.n.Add(1)
			time.Sleep(20 * time.Second)
			return echo(ctx, a)
		}
		start(t, p, 8, handlers{"slow": slow}, protocol, func(c *worker.Config) {
			c.Name, c.Grace = "first", time.Hour // only the move itself makes it notify
		})
		for i := range int32(4) {
			p.Dispatch("default", i, "w", p.Task("w", "slow", i))
		}
		time.Sleep(50 * time.Millisecond)
		start(t, p, 8, handlers{"slow": slow}, protocol)
		for range 4 {
			if o := p.Outcome(time.Minute); o.Outcome != events.OutcomeCompleted || o.Executor != "first" {
				t.Errorf("%v by %s, want completed by the first worker", o.Outcome, o.Executor)
			}
		}
		if n := runs.n.Load(); n != 4 {
			t.Errorf("four attempts ran %d times", n)
		}
	})
}

func TestWhatHasNotBegunMovesWithItsPartition(t *testing.T) {
	eachProtocol(t, topics.Options{Partitions: 2}, func(t *testing.T, p *workertest.Planner, protocol func(*worker.Config)) {
		var runs counted
		start(t, p, 2, handlers{"slow": func(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
			runs.n.Add(1)
			time.Sleep(time.Minute)
			return echo(ctx, a)
		}}, protocol, func(c *worker.Config) { c.Name = "full" })
		for i := range int32(2) {
			p.Dispatch("default", i, "w", p.Task("w", "slow", nil), p.Task("w", "slow", nil), p.Task("w", "slow", nil))
		}
		time.Sleep(time.Second)
		start(t, p, 2, handlers{"slow": runs.echo}, protocol)
		for range 6 {
			p.Outcome(3 * time.Minute)
		}
		if n := runs.n.Load(); n != 6 {
			t.Errorf("six attempts ran %d times", n)
		}
	})
}

func TestOutcomesCountThoughTheMembershipWasLost(t *testing.T) {
	eachProtocol(t, topics.Options{Partitions: 2}, func(t *testing.T, p *workertest.Planner, protocol func(*worker.Config)) {
		var c cable
		var runs counted
		slow := func(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
			runs.n.Add(1)
			time.Sleep(2 * time.Minute)
			return echo(ctx, a)
		}
		start(t, p, 4, handlers{"slow": slow, "echo": echo}, c.through, protocol, func(c *worker.Config) { c.Name = "away" })
		p.Dispatch("default", 0, "w", p.Task("w", "slow", nil))
		p.Dispatch("default", 1, "w", p.Task("w", "slow", nil))
		time.Sleep(2 * time.Second) // notified and committed
		c.sever()
		start(t, p, 4, handlers{"slow": slow, "echo": echo}, protocol)
		time.Sleep(90 * time.Second) // longer than any session
		p.Dispatch("default", 0, "w", p.Task("w", "echo", nil))
		if o := p.Outcome(soon); o.Executor != "worker-under-test" {
			t.Errorf("%v by %s, want the other worker to have the partition", o.Outcome, o.Executor)
		}
		c.fix()
		for range 2 {
			if o := p.Outcome(time.Minute); o.Outcome != events.OutcomeCompleted || o.Executor != "away" {
				t.Errorf("%v by %s, want completed by the one that was away", o.Outcome, o.Executor)
			}
		}
		if n := runs.n.Load(); n != 2 {
			t.Errorf("two attempts ran %d times", n)
		}
		time.Sleep(time.Minute)
		for i := range int32(2) {
			p.Dispatch("default", i, "w", p.Task("w", "echo", nil))
			p.Outcome(soon)
		}
	})
}

func TestManyWorkersRunEachAttempt(t *testing.T) {
	eachProtocol(t, topics.Options{Partitions: 4}, func(t *testing.T, p *workertest.Planner, protocol func(*worker.Config)) {
		var runs counted
		var workers []*running
		const attempts = 400
		for i := range attempts {
			if i%100 == 0 { // members come…
				workers = append(workers, start(t, p, 3, handlers{"echo": runs.echo}, protocol))
			}
			if i == 250 { // …and go
				workers[0].stop()
			}
			id := fmt.Sprint("w", i)
			p.Dispatch("default", int32(i%4), id, p.Task(id, "echo", i))
		}
		seen := map[string]bool{}
		for len(seen) < attempts {
			o := p.Outcome(time.Minute)
			if o.Outcome != events.OutcomeCompleted && o.Outcome != events.OutcomeAbandoned {
				t.Errorf("got %v", o.Outcome)
			}
			seen[string(o.Token)] = true
		}
		time.Sleep(time.Second)
		for i := range int32(4) {
			if at := p.Committed("default", i); at != attempts/4 {
				t.Errorf("partition %d: committed %d, want %d", i, at, attempts/4)
			}
		}
		if n := runs.n.Load(); n > attempts {
			t.Errorf("%d attempts ran %d times", attempts, n)
		}
	})
}

func TestAWorkerWaitsForItsTopic(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"echo": echo}, func(c *worker.Config) { c.Pools[0].Queues = []string{"later"} })
		time.Sleep(10 * time.Second)
		set, err := topics.Default().Set(topics.Options{Partitions: 1, Queues: []string{"later"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := set.Apply(context.Background(), p.Admin(t)); err != nil {
			t.Fatal(err)
		}
		p.Produce(kafka.Placed(set.Tasks("later"), 0, []byte("w"), encode(p.Task("w", "echo", 1))))
		began := time.Now()
		if o := p.Outcome(time.Minute); o.Outcome != events.OutcomeCompleted {
			t.Errorf("got %v", o.Outcome)
		}
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("the new topic was noticed after %v", d)
		}
	})
}

// What a killed worker had reported does not run again, though an attempt that was
// running keeps the offset from passing it.
func TestWhatAKilledWorkerHadReportedDoesNotRunAgain(t *testing.T) { // E3
	const reported = 100
	eachProtocol(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner, protocol func(*worker.Config)) {
		var first, second counted
		patient := func(c *worker.Config) { c.Grace = time.Hour }
		var c cable
		killed := start(t, p, 4, handlers{"long": until, "echo": first.echo}, c.through, protocol, patient)
		p.Dispatch("default", 0, "w", p.Task("w", "long", 0))
		for i := range reported {
			p.Dispatch("default", 0, "w", p.Task("w", "echo", i))
			p.Outcome(soon)
		}
		p.Dispatch("default", 0, "w", p.Task("w", "long", 0))
		time.Sleep(worker.DefaultCommitEvery + 10*time.Millisecond)
		c.kill(killed)
		var other cable
		again := start(t, p, 4, handlers{"long": until, "echo": second.echo}, other.through, protocol, patient)
		time.Sleep(time.Minute)
		if a, b := first.n.Load(), second.n.Load(); a != reported || b != 0 {
			t.Errorf("of %d attempts %d ran, and %d again", reported, a, b)
		}
		// Its own successor knows too what it has not met itself.
		other.kill(again)
		start(t, p, 4, handlers{"long": echo, "echo": second.echo}, protocol)
		for range 2 {
			p.Outcome(time.Minute)
		}
		if b := second.n.Load(); b != 0 {
			t.Errorf("%d ran again", b)
		}
		time.Sleep(time.Second)
		if at := p.Committed("default", 0); at != reported+2 {
			t.Errorf("committed %d, want %d", at, reported+2)
		}
	})
}
