package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// behaviour is how the task of a step goes about its work. What it counts are
// executions of a runnable, of whatever attempt: with more deliveries it
// succeeds sooner, never later.
type behaviour struct {
	Takes    time.Duration // of work
	Fails    int           // so many executions fail first
	Panics   bool          // instead of returning an error
	Hangs    int           // so many executions never end by themselves
	Hopeless bool          // no execution succeeds
	Halts    bool          // the policy gives up: it takes a retry by command
	External bool          // nobody runs it: the client completes it by its token
	Falls    policy.Form   // its own attempts fail, and this fallback saves it; 0: they need not
	Doubt    policy.OnLost // what follows when its worker has vanished, if it is hold or a probe
	Troubled bool          // whoever says what became of a lost attempt may say that it failed
	Queue    string
}

// tasked reports whether workers do a component's work.
func (c *Component) tasked() bool { return c.kind == step || c.byTask }

// task is what workers run of it; empty for what the planner does itself.
func (c *Component) task() string {
	switch {
	case !c.tasked():
		return ""
	case c.Acts.Queue != "":
		return c.Acts.Queue + ".work"
	}
	return "work"
}

// TaskMemory is what the tasks of a deployment remember, as the outside world does.
type TaskMemory struct {
	mu   sync.Mutex
	runs map[attemptID]int             // executions by runnable: of the attempt 0
	ran  map[attemptID]map[string]bool // who executed an attempt
	keys map[dispatched]string         // the idempotency key of what a record dispatched
	bad  []error                       // what no task may ever see
}

type attemptID struct {
	Workflow string
	Run      events.RunID
	runnable events.RunnableID
	attempt  uint32
}

// dispatched is an attempt with the record that dispatched it: where that did not last, another one may have the same number.
type dispatched struct {
	attemptID
	decided events.Position
}

// NewTaskMemory is the memory of tasks that have not run yet.
func NewTaskMemory() *TaskMemory {
	return &TaskMemory{runs: map[attemptID]int{}, ran: map[attemptID]map[string]bool{}, keys: map[dispatched]string{}}
}

// Begin counts an execution and says how many there were before.
func (l *TaskMemory) Begin(workflow string, task *events.Task, executor string) (before int, err error) {
	t, err := events.PeekToken(task.Token)
	if err != nil {
		return 0, err
	}
	if t.Workflow != workflow || t.Attempt != task.Attempt {
		return 0, fmt.Errorf("the token is of %s, attempt %d", t.Workflow, t.Attempt)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := attemptID{t.Workflow, t.Run, t.Runnable, t.Attempt}
	if l.ran[id] == nil {
		l.ran[id] = map[string]bool{}
	}
	l.ran[id][executor] = true
	at := dispatched{id, t.Decided}
	if other, known := l.keys[at]; known && other != task.IdempotencyKey {
		l.bad = append(l.bad, fmt.Errorf("attempt %d of %s of %s has the idempotency keys %q and %q", t.Attempt, t.Runnable, t.Workflow, other, task.IdempotencyKey))
	}
	l.keys[at] = task.IdempotencyKey
	id.attempt = 0
	before = l.runs[id]
	l.runs[id]++
	return before, nil
}

// Complaints are what tasks saw that none may ever see.
func (l *TaskMemory) Complaints() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.bad...)
}

// Complain notes what no task may ever see.
func (l *TaskMemory) Complain(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bad = append(l.bad, err)
}

// Key is the idempotency key that an attempt was executed with which a record dispatched; empty: it was not.
func (l *TaskMemory) Key(id attemptID, decided events.Position) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys[dispatched{id, decided}]
}

// Executed reports whether an executor, or with "" anybody, ran an attempt.
func (l *TaskMemory) Executed(id attemptID, executor string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ran[id][executor] || executor == "" && len(l.ran[id]) > 0
}

// End is how an execution ends.
type End int

// Ends of an execution.
const (
	Succeeds End = iota
	Errs         // with an error that may pass
	Crashes      // with a panic
	Hangs        // never, by itself
)

// Ends says how an execution ends that follows so many others, by what it is for. A probe always answers.
func (c *Component) Ends(input json.RawMessage, before int, what events.Purpose) End {
	switch b := &c.Acts; {
	case what != events.ForResult:
		return Succeeds
	case b.Falls != 0:
		return Errs
	case before < b.Hangs:
		return Hangs
	case !b.Hopeless && !c.failsOn(input) && before >= b.Hangs+b.Fails:
		return Succeeds
	case b.Panics:
		return Crashes
	}
	return Errs
}

// failsOn reports whether a step fails for good on what has arrived.
func (c *Component) failsOn(input json.RawMessage) bool {
	if c.kind != step || c.breaks == 0 {
		return false
	}
	weight, err := c.WeightOf(input)
	return err == nil && weight%c.breaks == 0
}

// work is how long the attempts of a runnable take that are meant: those that hang,
// fail and succeed. Each may have to wait for its keys.
func (c *Component) work() time.Duration {
	var limit time.Duration
	needs := c.needs.whole()
	milliseconds(needs, "heartbeat_timeout_ms", &limit)
	milliseconds(needs, "timeout_ms", &limit)
	fails := c.Acts.Fails
	if c.Acts.Hopeless || c.breaks > 0 || c.Acts.Falls != 0 {
		integer(needs, "max_retries", &fails)
	}
	if c.Acts.Falls.Attempts() {
		fails++
	}
	attempts := time.Duration(c.Acts.Hangs + fails + 1)
	return time.Duration(c.Acts.Hangs)*limit + time.Duration(fails+1)*c.Acts.Takes + attempts*c.turn()
}

// turn is how long an attempt may wait for its keys, if nobody else does: for its turn at a rate, and for a breaker that
// the attempt before it has opened.
func (c *Component) turn() time.Duration {
	var each time.Duration
	if rate, is := c.needs["rate_limit"].(map[string]any); is {
		milliseconds(rate, "per_ms", &each)
		each /= time.Duration(rate["limit"].(int))
	}
	var reset time.Duration
	if breaker, is := c.needs["circuit_breaker"].(map[string]any); is {
		milliseconds(breaker, "reset_timeout_ms", &reset)
	}
	return each + reset
}

// Result is what a component makes of the input of its task.
func (c *Component) Result(input json.RawMessage) (json.RawMessage, error) {
	switch {
	case c.kind == folded:
		return c.foldTask(input)
	case c.sums != nil:
		return c.summed(input)
	case c.looks != nil:
		return input, nil
	}
	weight, err := c.WeightOf(input)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(fmt.Sprint(c.Compute(weight))), nil
}

// Async reports whether attempts may be published together with their record.
func (c *Component) Async() bool { return c.needs["execution_mode"] == "async" }

// WeightOf undoes what the definition did to the arriving value.
func (c *Component) WeightOf(input json.RawMessage) (int64, error) {
	s := c.shape
	if c.join == caught && c.shaped == plain {
		var failure struct {
			Error struct{ Type, Message string }
			Value json.RawMessage
		}
		if err := json.Unmarshal(input, &failure); err != nil || failure.Error.Type == "" {
			return 0, fmt.Errorf("input %s: it is no failure", input)
		}
		input = failure.Value
	}
	switch c.shaped {
	case weighted:
		s = number
	case plain:
	case added:
		var with struct {
			Input json.RawMessage `json:"input"`
			Add   int64           `json:"add"`
		}
		if err := json.Unmarshal(input, &with); err != nil || with.Add != c.add {
			return 0, fmt.Errorf("input %s: want the parameter add: %d", input, c.add)
		}
		input = with.Input
	}
	v, err := parse(input, s)
	if err != nil {
		return 0, fmt.Errorf("input %s: %w", input, err)
	}
	return weigh(v), nil
}
