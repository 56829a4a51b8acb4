package equivalence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/taker"
	"github.com/heddle-run/heddle/shared/events"
)

// behaviour is how the task of a step goes about its work. What it counts are
// executions of a runnable, of whatever attempt: with more deliveries it
// succeeds sooner, never later.
type behaviour struct {
	takes    time.Duration // of work
	fails    int           // so many executions fail first
	panics   bool          // instead of returning an error
	hangs    int           // so many executions never end by themselves
	hopeless bool          // no execution succeeds
	halts    bool          // the policy gives up: it takes a retry by command
	external bool          // nobody runs it: the client completes it by its token
	queue    string
}

func (b *behaviour) task() string {
	if b.queue != "" {
		return b.queue + ".work"
	}
	return "work"
}

// ledger is what the tasks of a deployment remember, as the outside world does.
type ledger struct {
	mu   sync.Mutex
	runs map[string]int                // executions by runnable
	ran  map[attemptID]map[string]bool // who executed an attempt
	bad  []error                       // what no task may ever see
}

type attemptID struct {
	workflow string
	run      events.RunID
	runnable events.RunnableID
	attempt  uint32
}

func newLedger() *ledger {
	return &ledger{runs: map[string]int{}, ran: map[attemptID]map[string]bool{}}
}

// begin counts an execution and says how many there were before.
func (l *ledger) begin(a *taker.Attempt, executor string) (before int, err error) {
	t, err := events.PeekToken(a.Spec.Token)
	if err != nil {
		return 0, err
	}
	if t.Workflow != a.Workflow || t.Attempt != a.Spec.Attempt {
		return 0, fmt.Errorf("the token is of %s, attempt %d", t.Workflow, t.Attempt)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := attemptID{t.Workflow, t.Run, t.Runnable, t.Attempt}
	if l.ran[id] == nil {
		l.ran[id] = map[string]bool{}
	}
	l.ran[id][executor] = true
	before = l.runs[a.Spec.IdempotencyKey]
	l.runs[a.Spec.IdempotencyKey]++
	return before, nil
}

func (l *ledger) complain(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bad = append(l.bad, err)
}

// executed says whether an executor, or with "" anybody, ran an attempt.
func (l *ledger) executed(id attemptID, executor string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ran[id][executor] || executor == "" && len(l.ran[id]) > 0
}

var errTemporary = errors.New("it may work the next time")

// work is the one task: it finds its component and does what that one does.
func (p *plan) work(l *ledger, executor string) taker.HandlerFunc {
	return func(ctx context.Context, a *taker.Attempt) (json.RawMessage, error) {
		c := p.component(a.Workflow, a.Spec.Component)
		before, err := l.begin(a, executor)
		if c == nil || err != nil {
			err := fmt.Errorf("attempt of %q, component %q: %w", a.Workflow, a.Spec.Component, err)
			l.complain(err)
			return nil, err
		}
		result, err := c.run(ctx, a.Spec.Input, before)
		if err != nil && !errors.Is(err, errTemporary) && ctx.Err() == nil {
			l.complain(fmt.Errorf("%s of %s: %w", c.name, a.Workflow, err))
		}
		return result, err
	}
}

func (c *component) run(ctx context.Context, input json.RawMessage, before int) (json.RawMessage, error) {
	weight, err := c.weightOf(input)
	if err != nil {
		return nil, err
	}
	b := &c.acts
	if before < b.hangs {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	timer := time.NewTimer(b.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if b.hopeless || before < b.hangs+b.fails {
		if b.panics {
			panic(errTemporary)
		}
		return nil, errTemporary
	}
	return json.RawMessage(fmt.Sprint(c.compute(weight))), nil
}

// weightOf undoes what the definition did to the arriving value.
func (c *component) weightOf(input json.RawMessage) (int64, error) {
	s := c.shape
	switch c.shaped {
	case weighted:
		s = number
	case added:
		var with struct {
			Input json.RawMessage `json:"input"`
			Add   int64           `json:"add"`
		}
		if err := json.Unmarshal(input, &with); err != nil || with.Add != c.add {
			return 0, fmt.Errorf("input %s: want the parameter add: %d: %v", input, c.add, err)
		}
		input = with.Input
	}
	v, err := parse(input, s)
	if err != nil {
		return 0, fmt.Errorf("input %s: %w", input, err)
	}
	return weigh(v), nil
}
