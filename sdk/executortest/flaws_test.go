package executortest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/executortest"
)

// office does works as its World says, and has the flaw of its name.
type office struct {
	flaw string

	mu    sync.Mutex
	works map[string]*paper
	lost  map[string]bool // keys that were accepted and not kept
}

// paper is a work.
type paper struct {
	id    string
	times int
	input json.RawMessage
	state executor.State
	told  *desk // the first that was told of its end
}

func (o *office) add(w executor.Work) *paper {
	p := o.works[w.Key]
	if p == nil {
		p = &paper{id: fmt.Sprint("paper ", len(o.works)), state: executor.Running()}
		o.works[w.Key] = p
	}
	p.times++
	p.input = w.Input
	if o.flaw == "cuts inputs" && len(w.Input) > 1<<16 {
		p.input = w.Input[:1<<16]
	}
	return p
}

// desk is an adapter of an office. Interrupted, it does so many steps.
type desk struct {
	*office
	steps int    // until it is cut off
	cut   func() // nil: it is not to be
}

var errCut = errors.New("cut off")

func (d *desk) step() error {
	if d.cut == nil {
		return nil
	}
	if d.steps == 0 {
		d.cut()
		return errCut
	}
	d.steps--
	return nil
}

func (d *desk) Dispatch(ctx context.Context, w executor.Work) (executor.Answer, error) {
	if ctx.Err() != nil {
		return executor.Answer{}, context.Cause(ctx)
	}
	if d.flaw == "looks before it takes" {
		d.mu.Lock()
		known := d.works[w.Key] != nil
		d.mu.Unlock()
		time.Sleep(time.Millisecond)
		d.mu.Lock()
		defer d.mu.Unlock()
		if !known {
			d.add(w)
		}
		return executor.Accepted(d.works[w.Key].id), nil
	}
	if err := d.step(); err != nil {
		return executor.Answer{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.works[w.Key]
	again := p == nil || d.flaw == "begins again" || d.flaw == "begins again what has failed" && p.state.Phase == executor.PhaseFailed || d.lost[w.Key]
	if again {
		p = d.add(w)
		if d.flaw == "notes later what it has begun" {
			d.lost[w.Key] = true
		}
	}
	if err := d.step(); err != nil {
		return executor.Answer{}, err
	}
	delete(d.lost, w.Key)
	if d.flaw == "another ID each time" {
		return executor.Accepted(p.id + fmt.Sprint(" of ", time.Now().UnixNano())), nil
	}
	return executor.Accepted(p.id), nil
}

func (d *desk) Cancel(ctx context.Context, ref executor.Ref) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := d.step(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.works[ref.Key]
	switch {
	case p == nil && d.flaw == "refuses to cancel what is not there":
		return errors.New("there is no such work")
	case p == nil, d.flaw == "cancels by the ID" && ref.ID == "", d.flaw == "never cancels":
	case p.state.Phase == executor.PhaseRunning || d.flaw == "cancels what has ended":
		p.state = executor.Failed(errors.New("cancelled"))
	}
	return d.step()
}

func (d *desk) Recover(ctx context.Context, refs []executor.Ref) (states []executor.State, err error) {
	if ctx.Err() != nil {
		if d.flaw == "says that all is lost when it cannot ask" {
			return slices.Repeat([]executor.State{executor.Unknown()}, len(refs)), nil
		}
		return nil, context.Cause(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, ref := range refs {
		p := d.works[ref.Key]
		switch {
		case p == nil && d.flaw == "takes the unknown for running":
			states = append(states, executor.Running())
		case p == nil, ref.ID != "" && ref.ID != p.id, ref.ID == "" && d.flaw == "finds by the ID":
			states = append(states, executor.Unknown())
		case d.flaw == "tells an end to one alone" && !p.tells(d):
			states = append(states, executor.Running())
		case p.state.Phase == executor.PhaseDone && d.flaw == "loses results":
			states = append(states, executor.Completed(nil))
		case p.state.Phase == executor.PhaseFailed && d.flaw == "loses reasons":
			states = append(states, executor.Failed(errors.New("failed")))
		default:
			states = append(states, p.state)
		}
	}
	if d.flaw == "in its own order" {
		slices.SortStableFunc(states, func(a, b executor.State) int { return int(a.Phase) - int(b.Phase) })
	}
	return states, nil
}

// tells reports whether a desk is told of an end, where only the first one is that asks.
func (p *paper) tells(d *desk) bool {
	if p.told == nil && p.state.Phase != executor.PhaseRunning {
		p.told = d
	}
	return p.told == d
}

func (o *office) Begun(key string) (int, json.RawMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.works[key]; p != nil {
		return p.times, p.input
	}
	return 0, nil
}

func (o *office) End(key string, result json.RawMessage, failure string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.works[key].state = executor.Completed(result)
	if failure != "" {
		o.works[key].state = executor.Failed(errors.New(failure))
	}
}

func (o *office) Forget(_ testing.TB, key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.works, key)
}

// flaws are what adapters get wrong, and the check that finds it.
var flaws = map[string]string{
	"begins again":                             "DispatchedTwice",
	"another ID each time":                     "DispatchedTwice",
	"looks before it takes":                    "DispatchedByMany",
	"begins again what has failed":             "DispatchedBehindItsEnd",
	"finds by the ID":                          "FoundByAnother",
	"loses results":                            "Done",
	"loses reasons":                            "Failed",
	"tells an end to one alone":                "OneEnd",
	"takes the unknown for running":            "Unknown",
	"in its own order":                         "Order",
	"never cancels":                            "CancelledRunning",
	"cancels by the ID":                        "CancelledByKey",
	"refuses to cancel what is not there":      "CancelledBefore",
	"cancels what has ended":                   "CancelledBehindItsEnd",
	"says that all is lost when it cannot ask": "ContextEnded",
	"cuts inputs":                              "LargeInput",
	"notes later what it has begun":            "DispatchInterrupted",
}

// The program of a flaw, or of none: it is run by TestFlawsAreFound.
func TestFlawed(t *testing.T) {
	if os.Getenv("EXECUTORTEST_FLAW") != "" {
		executortest.Hurry()
	}
	executortest.Run(t, func(testing.TB) executortest.Place {
		o := &office{flaw: os.Getenv("EXECUTORTEST_FLAW"), works: map[string]*paper{}, lost: map[string]bool{}}
		return executortest.Place{
			Open:  func(testing.TB) executor.Adapter { return &desk{office: o} },
			World: o,
			Interrupt: func(t testing.TB, step int, do func(context.Context, executor.Adapter)) bool {
				ctx, cut := context.WithCancel(t.Context())
				defer cut()
				do(ctx, &desk{office: o, steps: step, cut: cut})
				return ctx.Err() != nil
			},
		}
	})
}

func TestFlawsAreFound(t *testing.T) {
	for _, flaw := range slices.Sorted(maps.Keys(flaws)) {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			run := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestFlawed$/^"+flaws[flaw]+"$")
			run.Env = append(os.Environ(), "EXECUTORTEST_FLAW="+flaw)
			out, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestFlawed/"+flaws[flaw]) {
				t.Errorf("the kit's check %s does not find it: %v\n%s", flaws[flaw], err, out)
			}
		})
	}
}
