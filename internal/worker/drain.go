package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

const (
	// obeyWait is what cancelled attempts get to return in.
	obeyWait = time.Second
	// flushWait is what the last reports get to be acknowledged in.
	flushWait = 10 * time.Second
)

// drain ends a Worker whose context has ended. Other members take over its
// partitions at once, while its attempts still run.
func (t *Worker) drain(polls *sync.WaitGroup) error {
	polls.Wait()
	for _, p := range t.pools {
		p.close()
	}
	for _, c := range t.consumers {
		c.leave(t.base)
	}
	finished := make(chan struct{})
	go func() {
		for _, p := range t.pools {
			p.slots.Wait()
		}
		close(finished)
	}()
	if !within(finished, t.config.DrainLimit) {
		t.tracker.cancelAll(ErrDrained)
		if !within(finished, obeyWait) {
			t.handBack()
		}
	}
	ctx, cancel := context.WithTimeout(t.base, flushWait)
	defer cancel()
	if err := t.producer.Flush(ctx); err != nil {
		return fmt.Errorf("worker: the last reports were not acknowledged: %w", err)
	}
	return nil
}

// leave gives the partitions to the group's other members. The revocation that
// comes with it commits what is done.
func (c *consumer) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, commitWait)
	defer cancel()
	if err := c.client.Load().LeaveGroupContext(ctx); err != nil {
		c.worker.log.Warn("leaving the group of workers", "topic", c.topic, "error", err)
	}
}

// handBack reports attempts that do not obey the end of their context. They
// have begun, so whether they had effects is unknown.
func (t *Worker) handBack() {
	now := time.Now()
	for _, a := range t.tracker.running(now) {
		t.log.Warn("an attempt does not end; it is handed back", "task", a.Spec.Task, "workflow", a.Workflow)
		t.end(a, events.TaskOutcome{
			Token: a.Spec.Token, Outcome: events.OutcomeAbandoned, Executor: t.config.Name,
			Error:   &events.TaskError{Type: events.ErrorLost, Message: ErrDrained.Error()},
			Started: a.started.UnixMilli(), Finished: now.UnixMilli(),
		}, now)
	}
}

func within(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
