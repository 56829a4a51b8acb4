package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

func encode(task *events.Task) []byte { return wire.Marshal(task) }

func TestALongAttemptIsNotifiedAndThenBeats(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"until": until})
		task := p.Task("w", "until", nil)
		task.Timeout = 12_000
		p.Dispatch("default", 0, "w", task)
		began := time.Now()
		n, ok := p.Next(soon).(*events.TaskNotified)
		if !ok || n.Detached || n.Channel != "test" || n.Executor != "worker-under-test" {
			t.Fatalf("got %+v, want a notification", n)
		}
		if d := time.Since(began); d < 200*time.Millisecond || d > 300*time.Millisecond {
			t.Errorf("notified after %v, want about 200ms", d)
		}
		for i := 1; i <= 2; i++ {
			m := p.Next(10 * time.Second)
			d := time.Since(began)
			if b, ok := m.(*events.TaskHeartbeat); !ok || b.Details != nil {
				t.Fatalf("got %+v, want a heartbeat without details", m)
			}
			if want := 200*time.Millisecond + time.Duration(i)*5*time.Second; d < want || d > want+200*time.Millisecond {
				t.Errorf("heartbeat %d after %v, want %v", i, d, want)
			}
		}
		if o := p.Outcome(soon); o.Outcome != events.OutcomeTimedOut {
			t.Errorf("got %v, want timed_out", o.Outcome)
		}
		if m := p.Within(time.Minute); m != nil {
			t.Errorf("after its outcome: %+v", m)
		}
	})
}

func TestDetailsAreSentOftenEnoughForTheLimitOfSilence(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"busy": func(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
			for ctx.Err() == nil {
				if err := a.Heartbeat(json.RawMessage("null")); err != nil {
					return nil, err
				}
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
			return nil, ctx.Err()
		}})
		for silence, want := range map[int64]time.Duration{0: time.Second, 1500: 500 * time.Millisecond, 60_000: time.Second} {
			task := p.Task("w", "busy", nil)
			task.Announce, task.Silence, task.Timeout = true, silence, 10_000
			p.Dispatch("default", 0, "w", task)
			if _, ok := p.Next(soon).(*events.TaskNotified); !ok {
				t.Fatal("it is not announced")
			}
			before := time.Now()
			for range 3 {
				b, ok := p.Next(2 * time.Second).(*events.TaskHeartbeat)
				if d := time.Since(before); !ok || string(b.Details) != "null" || d < want || d > want+150*time.Millisecond {
					t.Errorf("with a limit of %d ms, after %v: %+v, want a heartbeat after %v", silence, d, b, want)
				}
				before = time.Now()
			}
			for {
				if _, ends := p.Next(2 * time.Second).(*events.TaskOutcome); ends {
					break
				}
			}
		}
	})
}

func TestAnAttemptThatIsToBeAnnouncedIsNotifiedAsItBegins(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"short": func(context.Context, *worker.Attempt) (json.RawMessage, error) { return nil, nil }})
		for _, name := range []string{"short", "nobody"} {
			task := p.Task("w", name, nil)
			task.Announce = true
			p.Dispatch("default", 0, "w", task)
		}
		if n, ok := p.Next(soon).(*events.TaskNotified); !ok || n.Detached {
			t.Fatalf("got %+v, want a notification", n)
		}
		for _, want := range []events.Outcome{events.OutcomeCompleted, events.OutcomeUnknownTask} { // who does not know a task does not begin it
			if o, ok := p.Next(soon).(*events.TaskOutcome); !ok || o.Outcome != want {
				t.Errorf("got %+v, want %v", o, want)
			}
		}
	})
}

func TestAFastAttemptIsNotNotified(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"short": func(context.Context, *worker.Attempt) (json.RawMessage, error) {
			time.Sleep(150 * time.Millisecond)
			return nil, nil
		}})
		p.Dispatch("default", 0, "w", p.Task("w", "short", nil))
		if o, ok := p.Next(soon).(*events.TaskOutcome); !ok {
			t.Errorf("got %+v, want the outcome alone", o)
		}
	})
}

func TestHeartbeatDetailsAreSentAtMostOnceASecondAndNeverLost(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"beats": func(_ context.Context, a *worker.Attempt) (json.RawMessage, error) {
			for i := range 30 { // one every 100 ms, for 3 s
				if err := a.Heartbeat(json.RawMessage([]byte{'1', '0' + byte(i/10), '0' + byte(i%10)})); err != nil {
					t.Error(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			if err := a.Heartbeat(json.RawMessage(strings.Repeat("1", 65<<10))); err == nil {
				t.Error("details of 65 KiB were taken")
			}
			return nil, errors.New("broken")
		}})
		p.Dispatch("default", 0, "w", p.Task("w", "beats", nil))
		var details []string
		for {
			m := p.Next(soon)
			if b, ok := m.(*events.TaskHeartbeat); ok {
				details = append(details, string(b.Details))
			}
			if _, ok := m.(*events.TaskOutcome); ok {
				break
			}
		}
		if n := len(details); n < 3 || n > 5 || details[n-1] != "129" {
			t.Errorf("heartbeats %q, want about one a second, the last one 129", details)
		}
	})
}

func TestDetailsOfAFastFailureAreReportedBeforeIt(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"beats": func(_ context.Context, a *worker.Attempt) (json.RawMessage, error) {
			return nil, errors.Join(a.Heartbeat(json.RawMessage(`{"done":3}`)), errors.New("broken"))
		}})
		p.Dispatch("default", 0, "w", p.Task("w", "beats", nil))
		if n, ok := p.Next(soon).(*events.TaskNotified); !ok {
			t.Errorf("got %+v, want a notification first", n)
		}
		if b, ok := p.Next(soon).(*events.TaskHeartbeat); !ok || string(b.Details) != `{"done":3}` {
			t.Errorf("got %+v, want the details", b)
		}
		if o, ok := p.Next(soon).(*events.TaskOutcome); !ok || o.Outcome != events.OutcomeFailed {
			t.Errorf("got %+v, want the failure", o)
		}
	})
}

func TestAPendingAttemptFreesItsSlotAndIsSilent(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"echo": echo, "later": func(context.Context, *worker.Attempt) (json.RawMessage, error) {
			return nil, worker.ErrPending
		}})
		p.Dispatch("default", 0, "w", p.Task("w", "later", nil), p.Task("w", "echo", 1))
		if n, ok := p.Next(soon).(*events.TaskNotified); !ok || !n.Detached {
			t.Errorf("got %+v, want a detached notification", n)
		}
		if o := p.Outcome(soon); string(o.Result) != "1" {
			t.Errorf("got %s, want the attempt behind it", o.Result)
		}
		if m := p.Within(time.Minute); m != nil {
			t.Errorf("a pending attempt went on to report %+v", m)
		}
		if at := p.Committed("default", 0); at != 2 {
			t.Errorf("committed %d, want 2: its notification is acknowledged (E3)", at)
		}
	})
}

func TestARunningAttemptHearsOfItsCancellationWithinASecond(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 2}, func(t *testing.T, p *workertest.Planner) {
		var mu sync.Mutex
		var cause error
		start(t, p, 1, handlers{"until": func(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
			result, err := until(ctx, a)
			mu.Lock()
			defer mu.Unlock()
			cause = err
			return result, err
		}})
		running, waiting := p.Task("w", "until", nil), p.Task("w", "until", nil)
		p.Dispatch("default", 0, "w", running)
		p.Next(soon)
		p.Dispatch("default", 0, "w", waiting) // the only slot is taken
		time.Sleep(time.Second)
		began := time.Now()
		p.Cancel("w", waiting.Token, "")
		p.Cancel("w", running.Token, "not wanted any more")
		for _, task := range []*events.Task{running, waiting} {
			o := p.Outcome(soon)
			if o.Outcome != events.OutcomeCancelled || string(o.Token) != string(task.Token) {
				t.Errorf("got %v, want cancelled, the running one first", o.Outcome)
			}
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("it took %v", d)
		}
		mu.Lock()
		defer mu.Unlock()
		if !errors.Is(cause, worker.ErrCancelled) || !strings.Contains(cause.Error(), "not wanted any more") {
			t.Errorf("the task was told %v, want the reason", cause)
		}
	})
}

func TestAnAttemptCancelledBeforeItIsTakenDoesNotRun(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"never": func(context.Context, *worker.Attempt) (json.RawMessage, error) {
			t.Error("it ran")
			return nil, nil
		}})
		time.Sleep(time.Second) // the tail of cancellations is at its end
		task := p.Task("w", "never", nil)
		p.Cancel("w", task.Token, "")
		time.Sleep(5 * time.Minute)
		p.Dispatch("default", 0, "w", task)
		if o := p.Outcome(soon); o.Outcome != events.OutcomeCancelled {
			t.Errorf("got %v, want cancelled", o.Outcome)
		}
	})
}

// A cancellation that nobody was there to hear is heard by the worker that takes the attempt,
// as long as task-control keeps it.
func TestAnAttemptCancelledWhileNoWorkerWasThereDoesNotRun(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 2}, func(t *testing.T, p *workertest.Planner) {
		done, task := p.Task("w", "echo", 1), p.Task("w", "never", nil)
		p.Dispatch("default", 0, "w", done, task)
		time.Sleep(time.Hour)
		p.Cancel("w", task.Token, "")
		p.Cancel("other", p.Task("other", "gone", nil).Token, "")
		time.Sleep(cancelledWait)
		start(t, p, 1, handlers{"echo": echo, "never": func(context.Context, *worker.Attempt) (json.RawMessage, error) {
			t.Error("it ran")
			return nil, nil
		}})
		for _, want := range []events.Outcome{events.OutcomeCompleted, events.OutcomeCancelled} {
			if o := p.Outcome(soon); o.Outcome != want {
				t.Errorf("got %v, want %v", o.Outcome, want)
			}
		}
	})
}

// cancelledWait is a little less than task-control keeps what it has.
const cancelledWait = 5 * time.Hour

func TestASuccessStandsAgainstACancellation(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		start(t, p, 1, handlers{"done": func(ctx context.Context, _ *worker.Attempt) (json.RawMessage, error) {
			<-ctx.Done()
			return json.RawMessage(`"done anyway"`), nil
		}})
		task := p.Task("w", "done", nil)
		p.Dispatch("default", 0, "w", task)
		p.Next(soon)
		p.Cancel("w", task.Token, "")
		if o := p.Outcome(soon); o.Outcome != events.OutcomeCompleted {
			t.Errorf("got %v, want completed: the planner decides what it means", o.Outcome)
		}
	})
}
