package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/events"
)

// answers is an adapter that answers one Dispatch after the other.
type answers struct {
	*board
	mu   sync.Mutex
	next []func() (executor.Answer, error)
}

func (a *answers) Dispatch(ctx context.Context, w executor.Work) (executor.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.next) == 0 {
		return a.board.Dispatch(ctx, w)
	}
	f := a.next[0]
	a.next = a.next[1:]
	return f()
}

func TestAnswersOfDispatch(t *testing.T) {
	answer := func(a executor.Answer, err error) func() (executor.Answer, error) {
		return func() (executor.Answer, error) { return a, err }
	}
	unsure := answer(executor.Answer{}, errors.New("the connection was cut"))
	for _, c := range []struct {
		name   string
		next   []func() (executor.Answer, error)
		want   events.Outcome
		result string
	}{
		{"done at once", []func() (executor.Answer, error){answer(executor.Done(json.RawMessage(`7`)), nil)}, events.OutcomeCompleted, "7"},
		{"failed", []func() (executor.Answer, error){answer(executor.Answer{}, &task.Error{Type: "refused"})}, events.OutcomeFailed, "refused"},
		{"handed back", []func() (executor.Answer, error){answer(executor.Answer{}, fmt.Errorf("%w: full", executor.ErrHandBack))}, events.OutcomeUnknownTask, "unknown_task"},
		{"nobody knows, then it is accepted", []func() (executor.Answer, error){unsure, unsure, unsure}, events.OutcomeCompleted, `"done"`},
		{"it panics, then it is accepted", []func() (executor.Answer, error){func() (executor.Answer, error) { panic("a mistake") }}, events.OutcomeCompleted, `"done"`},
		{"no answer, then it is accepted", []func() (executor.Answer, error){answer(executor.Answer{}, nil)}, events.OutcomeCompleted, `"done"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
				start(t, p, &answers{board: b, next: c.next})
				a := dispatch(p, nil)
				time.Sleep(10 * time.Second)
				b.end(done)
				outcome(t, p, a, c.want, c.result)
			})
		})
	}
	t.Run("told by the token", func(t *testing.T) {
		inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
			start(t, p, &answers{board: b, next: []func() (executor.Answer, error){answer(executor.Told(), nil)}})
			dispatch(p, nil)
			if m, ok := p.Next(time.Second).(*events.TaskNotified); !ok || !m.Detached {
				t.Errorf("it is reported as %+v", m)
			}
		})
	})
}

// Recover that fails, panics or answers nonsense says nothing about any work.
func TestRecoverThatSaysNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
		times := 0
		b.at = func(method, when string) error {
			if method != "Recover" || when != "end" {
				return nil
			}
			switch times++; times {
			case 1:
				return errors.New("the connection was cut")
			case 2:
				panic("a mistake")
			}
			return nil
		}
		start(t, p, &nonsense{board: b})
		a := dispatch(p, nil)
		time.Sleep(time.Minute)
		b.end(done)
		outcome(t, p, a, events.OutcomeCompleted, `"done"`)
	})
}

// nonsense answers twice what is no state.
type nonsense struct {
	*board
	times int
}

func (n *nonsense) Recover(ctx context.Context, refs []executor.Ref) ([]executor.State, error) {
	states, err := n.board.Recover(ctx, refs)
	if err != nil {
		return nil, err
	}
	switch n.times++; n.times {
	case 1:
		return nil, nil
	case 2:
		return []executor.State{{Phase: executor.PhaseFailed}}, nil
	}
	return states, nil
}

// A State that is none says nothing about its own work, and keeps no other from its end.
func TestOneWrongStateStopsNoOtherWork(t *testing.T) {
	inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
		start(t, p, b)
		const works = 8
		for range works {
			dispatch(p, nil)
		}
		time.Sleep(time.Second)
		b.end(done)
		b.endFirst(executor.State{Phase: executor.PhaseFailed})
		if ends := ended(p, time.Minute); ends != works-1 {
			t.Errorf("%d works end beside the one about which nothing is said, want %d", ends, works-1)
		}
		b.endFirst(done)
		if ends := ended(p, time.Minute); ends != 1 {
			t.Errorf("%d works end when the last state is one", ends)
		}
	})
}

// ended is how many attempts complete within a time.
func ended(p *workertest.Planner, within time.Duration) (n int) {
	for end := time.Now().Add(within); time.Now().Before(end); {
		if o, ok := p.Within(time.Until(end)).(*events.TaskOutcome); ok && o.Outcome == events.OutcomeCompleted {
			n++
		}
	}
	return n
}

// A cancellation that the system does not take in the time that an attempt waits for it is not given up.
func TestACancelledWorkEndsWhenItsSystemIsBack(t *testing.T) {
	inBubble(t, func(t *testing.T, p *workertest.Planner, b *board) {
		var away atomic.Bool
		away.Store(true)
		b.at = func(method, _ string) error {
			if method == "Cancel" && away.Load() {
				return errors.New("the system is away")
			}
			return nil
		}
		start(t, p, b)
		a := dispatch(p, nil)
		p.Next(time.Second)
		p.Cancel("w", a.Token, "not wanted")
		outcome(t, p, a, events.OutcomeCancelled, "cancelled")
		time.Sleep(70 * time.Second)
		away.Store(false)
		time.Sleep(time.Minute)
		if _, cancelled, calls := b.count("Cancel"); cancelled != 1 || calls != 1 {
			t.Errorf("%d works are cancelled, by %d calls", cancelled, calls)
		}
	})
}
