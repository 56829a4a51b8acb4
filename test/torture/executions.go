package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/heddle-run/heddle/sdk/task"
)

// executions is what ran: by workflow and activation, which the idempotency key
// names, WORKFLOW/RUN/RUNNABLE.
type executions struct {
	mu     sync.Mutex
	by     map[string]*execution
	tokens map[string]time.Time // of attempts that ran, or the names of calls, and when they last did
	times  int                  // of all
	twice  int                  // of all, those of an attempt that had run before
	again  []string             // activations of which one attempt ran twice in the worker, too soon
}

// execution is what ran of one activation.
type execution struct {
	times  int    // attempts, failed ones too
	result string // of the last that succeeded
}

func newExecutions() *executions {
	return &executions{by: map[string]*execution{}, tokens: map[string]time.Time{}}
}

// ran notes an attempt of the worker that succeeds.
func (x *executions) ran(ctx context.Context, result int) int {
	x.attempted(ctx)
	x.note(task.IdempotencyKey(ctx), strconv.Itoa(result))
	return result
}

// failed notes an attempt of the worker that fails.
func (x *executions) failed(ctx context.Context) {
	x.attempted(ctx)
	x.note(task.IdempotencyKey(ctx), "")
}

// known is how long a worker that lives knows the attempts that it ended, less a
// second: later its planner may want them run again, as the outcome may be lost
// (E3, decision 0009).
const known = 19 * time.Second

// attempted notes an attempt's token: the worker, which lives through the whole
// run, takes none twice while it knows them (E2).
func (x *executions) attempted(ctx context.Context) {
	if since, again := x.met(task.Token(ctx)); again && since < known {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.again = append(x.again, fmt.Sprintf("%s, after %v", task.IdempotencyKey(ctx), since))
	}
}

// met notes that an attempt, or a call, runs, and says how long ago it did before.
func (x *executions) met(token string) (since time.Duration, again bool) {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	last, again := x.tokens[token]
	x.tokens[token] = now
	if again {
		x.twice++
	}
	return now.Sub(last), again
}

// note notes an execution; its result is empty when it failed.
func (x *executions) note(key, result string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.by[key]
	if e == nil {
		e = &execution{}
		x.by[key] = e
	}
	e.times++
	x.times++
	if result != "" {
		e.result = result
	}
}

// of is what ran of an activation.
func (x *executions) of(key string) execution {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.by[key]; e != nil {
		return *e
	}
	return execution{}
}

// total counts executions, those among them that ran an attempt again, and the
// activations that they were of.
func (x *executions) total() (times, again, activations int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.times, x.twice, len(x.by)
}
