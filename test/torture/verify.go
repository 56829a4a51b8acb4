package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// verdict is what the books say in the end.
type verdict struct {
	mu       sync.Mutex
	wrong    []string
	suspects []string // workflows that something is wrong with

	entered, acknowledged, ended, silent, benched int
	steps, executions, again, activations         int
	facts                                         *journalFacts
}

// fail notes what is wrong with a workflow, or with none of them.
func (v *verdict) fail(id, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	what := fmt.Sprintf(format, args...)
	if id != "" {
		what = id + ": " + what
		if !slices.Contains(v.suspects, id) {
			v.suspects = append(v.suspects, id)
		}
	}
	v.wrong = append(v.wrong, what)
}

// verify compares the book with the planners' answers and with the journal.
func (a *accountant) verify(ctx context.Context) (*verdict, error) {
	v := &verdict{}
	v.executions, v.again, v.activations = a.ran.total()
	var err error
	if v.facts, err = settledJournal(ctx, a.brokers, partitions, a.options.settle); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	ids := make(chan string)
	entries := map[string]entry{}
	a.book.each(func(id string, e entry) { entries[id], known[id] = e, true })
	var asking sync.WaitGroup
	for range lookers {
		asking.Go(func() {
			for id := range ids {
				v.answer(ctx, a.kafka, id, entries[id])
			}
		})
	}
	for id, e := range entries {
		v.journal(id, e, a.ran)
		if e.ended {
			ids <- id
		}
	}
	close(ids)
	asking.Wait()
	for _, key := range a.ran.again {
		v.fail("", "the worker ran one attempt twice, of %s", key)
	}
	for id, s := range v.facts.runs {
		if !known[id] {
			v.other(id, s)
		}
	}
	return v, nil
}

// other checks a run that is not in the book: one of the bench's.
func (v *verdict) other(id string, s *story) {
	if !strings.HasPrefix(id, benchPrefix) {
		v.fail(id, "in the journal, but nobody started it")
		return
	}
	v.benched++
	v.once(id, s, benchSteps)
}

// journal compares one entry of the book with the journal.
func (v *verdict) journal(id string, e entry, ran *executions) {
	v.entered++
	if e.acked {
		v.acknowledged++
	}
	r := v.facts.runs[id]
	if r == nil || r.started == 0 {
		if e.acked {
			v.fail(id, "its start was acknowledged, but the journal does not know it")
		}
		return
	}
	v.ended++
	if !e.acked {
		v.silent++
	}
	_, steps := expected(e.n)
	v.steps += steps
	v.once(id, r, steps)
	v.executed(id, r, ran)
}

// once checks that everything that a run does happened once.
func (v *verdict) once(id string, r *story, steps int) {
	if r.started != 1 || r.terminal != 1 || r.settled != 1 || r.after != 0 {
		v.fail(id, "started %d times, settled %d times, ended %d times, %d events after its end", r.started, r.settled, r.terminal, r.after)
	}
	if len(r.completed) != steps {
		v.fail(id, "%d runnables completed, expected %d", len(r.completed), steps)
	}
	for runnable, c := range r.completed {
		if c.times != 1 {
			v.fail(id, "%s completed %d times", runnable, c.times)
		}
	}
}

// executed checks that what completed has run, with the result that it has.
func (v *verdict) executed(id string, s *story, ran *executions) {
	for runnable, c := range s.completed {
		e := ran.of(fmt.Sprintf("%s/%s/%s", id, s.run, runnable))
		if e.times == 0 {
			v.fail(id, "%s completed with %s, but nobody ran it", runnable, c.value)
		} else if e.result != c.value {
			v.fail(id, "%s completed with %s, but running it gave %q", runnable, c.value, e.result)
		}
	}
}

// answer compares one entry with the results that the planner tells.
func (v *verdict) answer(ctx context.Context, c *client.Client, id string, e entry) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	got, err := c.Results(ctx, id)
	if err != nil {
		v.fail(id, "asking for its results: %v", err)
		return
	}
	want, _ := expected(e.n)
	if got.Status != "completed" || string(got.Results["end"]) != want {
		v.fail(id, "started with %d it is %s with %s, expected %s", e.n, got.Status, got.Results["end"], want)
	}
}

func (v *verdict) print() {
	fmt.Printf("workflows: %d tried, %d acknowledged, %d ran (%d of them without an acknowledgement)\n",
		v.entered, v.acknowledged, v.ended, v.silent)
	fmt.Printf("           %d more of heddle bench\n", v.benched)
	fmt.Printf("steps:     %d completed; %d executions, of %d activations\n", v.steps, v.executions, v.activations)
	fmt.Printf("repeated:  %d executions of an attempt that had run before\n", v.again)
	fmt.Printf("journal:   %d records, %d takeovers\n", v.facts.records, v.facts.takeovers)
	for i, w := range v.wrong {
		if i == 20 {
			fmt.Printf("  … and %d more\n", len(v.wrong)-i)
			break
		}
		fmt.Println("  WRONG: " + w)
	}
	if len(v.wrong) == 0 {
		fmt.Println("every workflow ended exactly once, with the right result")
	}
}

func (v *verdict) err() error {
	if len(v.wrong) > 0 {
		return fmt.Errorf("%d things are wrong", len(v.wrong))
	}
	if v.acknowledged == 0 {
		return errors.New("no workflow was acknowledged: nothing was proven")
	}
	return nil
}
