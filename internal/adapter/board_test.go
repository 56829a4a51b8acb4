package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/heddle-run/heddle/sdk/executor"
)

// board is a system that work is handed over to: it outlives executors. Works end when the test says so.
type board struct {
	mu      sync.Mutex
	works   map[string]*posted // by key
	order   []string
	changed chan struct{} // gets a value with each call, if it has room
	calls   []string

	// at is called at the beginning and at the end of each call, without the lock, with the method's name and "begin" or
	// "end"; what it returns is the call's answer. nil: nothing.
	at func(method, when string) error
}

type posted struct {
	work      executor.Work
	state     executor.State
	cancelled bool
}

func newBoard() *board { return &board{works: map[string]*posted{}, changed: make(chan struct{}, 1)} }

func (b *board) call(method string, do func()) error {
	if b.at != nil {
		if err := b.at(method, "begin"); err != nil {
			return err
		}
	}
	b.mu.Lock()
	b.calls = append(b.calls, method)
	do()
	b.mu.Unlock()
	if b.at != nil {
		return b.at(method, "end")
	}
	return nil
}

// Dispatch implements executor.Adapter.
func (b *board) Dispatch(_ context.Context, w executor.Work) (a executor.Answer, err error) {
	err = b.call("Dispatch", func() {
		if b.works[w.Key] == nil {
			b.works[w.Key] = &posted{work: w, state: executor.Running()}
			b.order = append(b.order, w.Key)
		}
		a = executor.Accepted(fmt.Sprint("id ", slices.Index(b.order, w.Key)))
	})
	return a, err
}

// Cancel implements executor.Adapter.
func (b *board) Cancel(_ context.Context, ref executor.Ref) error {
	return b.call("Cancel", func() {
		if p := b.works[ref.Key]; p != nil {
			p.cancelled = true
			if p.state.Phase == executor.PhaseRunning {
				p.state = executor.Failed(errors.New("cancelled"))
			}
		}
	})
}

// Recover implements executor.Adapter.
func (b *board) Recover(_ context.Context, refs []executor.Ref) (states []executor.State, err error) {
	err = b.call("Recover", func() {
		for _, ref := range refs {
			s := executor.Unknown()
			if p := b.works[ref.Key]; p != nil {
				s = p.state
			}
			states = append(states, s)
		}
	})
	return states, err
}

// end ends all works with a state.
func (b *board) end(s executor.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.works {
		p.state = s
	}
}

// endFirst ends the work that was begun first.
func (b *board) endFirst(s executor.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.works[b.order[0]].state = s
}

// forget loses all works.
func (b *board) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.works = map[string]*posted{}
}

// count is how many works there are and how many were cancelled, and how often a method was called.
func (b *board) count(method string) (works, cancelled, calls int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.works {
		if p.cancelled {
			cancelled++
		}
	}
	for _, c := range b.calls {
		if c == method {
			calls++
		}
	}
	return len(b.works), cancelled, calls
}

var done = executor.Completed(json.RawMessage(`"done"`))
