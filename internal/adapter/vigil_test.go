package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/shared/events"
)

// agents are a board whose works tell of their ends themselves.
type agents struct{ *board }

func (a *agents) Dispatch(ctx context.Context, w executor.Work) (executor.Answer, error) {
	answer, err := a.board.Dispatch(ctx, w)
	return executor.Watched(answer.ID), err
}

// detached waits until an attempt is left to its token.
func detached(p *workertest.Planner) bool {
	m, ok := p.Next(time.Second).(*events.TaskNotified)
	return ok && m.Detached
}

// What tells of its end by the token and cannot any more ends its attempt, whatever slot that had: as lost, or as its adapter knows. What lives
// is asked for, and ends nothing.
func TestAWorkThatDiesWithoutAWordEndsItsAttempt(t *testing.T) {
	for _, c := range []struct {
		name  string
		dies  func(b *board)
		want  events.Outcome
		error string
	}{
		{"unknown", (*board).forget, events.OutcomeAbandoned, events.ErrorLost},
		{"failed", func(b *board) { b.end(executor.Failed(errors.New("it crashed"))) }, events.OutcomeFailed, events.ErrorTaskFailed},
		{"done", func(b *board) { b.end(executor.Completed(json.RawMessage(`7`))) }, events.OutcomeCompleted, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
				start(t, p, &agents{b})
				a := dispatch(p, nil)
				if !detached(p) {
					t.Fatal("it is not left to its token")
				}
				if m := p.Within(time.Minute); m != nil {
					t.Fatalf("while it lives comes %+v", m)
				}
				c.dies(b)
				o := p.Outcome(10 * time.Second)
				if string(o.Token) != string(a.Token) || o.Outcome != c.want || o.Started == 0 || (o.Error != nil) != (c.error != "") || o.Error != nil && o.Error.Type != c.error {
					t.Errorf("%+v with %+v", o, o.Error)
				}
				if m := p.Within(time.Minute); m != nil {
					t.Errorf("behind its end comes %+v", m)
				}
			})
		})
	}
}

// Nobody asks for a work any more whose time is over, or for which there are newer ones, or whose executor stops.
func TestWorksAreAskedForWhileItMayHelp(t *testing.T) {
	asked := func(b *board) int {
		_, _, before := b.count("Recover")
		time.Sleep(time.Minute)
		_, _, after := b.count("Recover")
		return after - before
	}
	inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
		start(t, p, &agents{b})
		a := p.Task("w", "jobs.render", nil)
		a.Timeout = 90_000
		p.Dispatch(queue, 0, "w", a)
		if !detached(p) {
			t.Fatal("it is not left to its token")
		}
		if n := asked(b); n == 0 || n > 12 {
			t.Errorf("within a minute it is asked for %d times", n)
		}
		time.Sleep(31 * time.Second)
		if n := asked(b); n != 0 {
			t.Errorf("behind its time it is asked for %d times", n)
		}
		if m := p.Within(time.Minute); m != nil {
			t.Errorf("its executor tells %+v", m)
		}
	})
	inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
		start(t, p, &agents{b})
		for n := range 1001 {
			p.Dispatch(queue, 0, fmt.Sprint("w", n), p.Task(fmt.Sprint("w", n), "jobs.render", nil))
		}
		for range 1001 {
			if !detached(p) {
				t.Fatal("it is not left to its token")
			}
		}
		b.forget()
		n := 0
		for p.Within(time.Minute) != nil {
			n++
		}
		if n != 1000 {
			t.Errorf("%d works of 1001 are known to be gone", n)
		}
	})
}
