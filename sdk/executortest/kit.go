// Package executortest holds an adapter of package executor against the contract of its interface: one call of Run in a
// test of the adapter. docs/executors.md shows how.
//
// What becomes of attempts is the worker's, whoever the adapter is; the kit tests what the worker relies on: an outcome is told once
// because a work has one end, which all are told who ask.
package executortest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/sdk/executor"
)

// Place is a system that work is handed over to, without any works at first.
type Place struct {
	// Open makes an adapter of the system, as an executor does that begins. The kit opens several, as several executors
	// do, or one behind the other's death; t ends them.
	Open func(t testing.TB) executor.Adapter

	Task  string                      // of the works; "": "kit.work"
	Input func(n int) json.RawMessage // of the work with a number; nil: {"n": n}

	// World is what does the works; nil for RunTold.
	World World

	// Interrupt calls do with an adapter that it opens, and cuts that off from the system at a step, counted from 0 as do
	// begins: what a killed process or a cut connection leaves is what the place holds then. From that moment on the
	// context of do has ended, and whatever the adapter answers is ignored. A step may be any that the adapter can
	// be caught in, as the middle of a message to the system. It returns whether do was interrupted: that it was not tells the kit that
	// there are no more steps. nil: the adapter cannot be cut off from the system, as one that is a library in the process.
	Interrupt func(t testing.TB, step int, do func(ctx context.Context, a executor.Adapter)) bool
}

// World does works: each runs until End tells it to end, or it obeys a Cancel.
type World interface {
	// Begun is how often somebody has begun the work of a key, and what it was given.
	Begun(key string) (times int, input json.RawMessage)
	// End lets the work of a key end: with a result, or, if there is a failure, with that as its error's message.
	End(key string, result json.RawMessage, failure string)
	// Forget takes an ended work out of the system, as its retention would.
	Forget(t testing.TB, key string)
}

// Run tests an adapter whose works are accepted. place makes an empty Place; it is called for each test of the kit.
func Run(t *testing.T, place func(t testing.TB) Place) { run(t, place, checks) }

// RunTold tests an adapter whose works tell of their ends by the attempt's token (executor.Told): their Place has no
// World.
func RunTold(t *testing.T, place func(t testing.TB) Place) { run(t, place, toldChecks) }

func run(t *testing.T, place func(t testing.TB) Place, all []check) {
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) { c.run(t, newKit(t, place(t))) })
	}
}

type check struct {
	name string
	run  func(t *testing.T, k *kit)
}

var checks = []check{
	{"DispatchedTwice", dispatchedTwice},
	{"DispatchedByMany", dispatchedByMany},
	{"DispatchedBehindItsEnd", dispatchedBehindItsEnd},
	{"FoundByAnother", foundByAnother},
	{"Running", running},
	{"Done", done},
	{"Failed", failed},
	{"OneEnd", oneEnd},
	{"Unknown", unknown},
	{"Order", order},
	{"CancelledRunning", cancelledRunning},
	{"CancelledByKey", cancelledByKey},
	{"CancelledBefore", cancelledBefore},
	{"CancelledBehindItsEnd", cancelledBehindItsEnd},
	{"ContextEnded", contextEnded},
	{"LargeInput", largeInput},
	{"DispatchInterrupted", cut(dispatchInterrupted)},
	{"CancelInterrupted", cut(cancelInterrupted)},
}

var toldChecks = []check{
	{"Told", told},
	{"ContextEnded", toldContextEnded},
}

// cut is a check of an adapter that can be cut off from its system.
func cut(run func(*testing.T, *kit)) func(*testing.T, *kit) {
	return func(t *testing.T, k *kit) {
		if k.Interrupt == nil {
			t.Skip("its place has no Interrupt: the adapter cannot be cut off from its system")
		}
		run(t, k)
	}
}

// kit is a Place with what the checks need.
type kit struct {
	Place
	adapter executor.Adapter
	works   int
}

func newKit(t testing.TB, p Place) *kit {
	if p.Task == "" {
		p.Task = "kit.work"
	}
	if p.Input == nil {
		p.Input = func(n int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"n": %d}`, n)) }
	}
	return &kit{Place: p, adapter: p.Open(t)}
}

// work is another one.
func (k *kit) work() executor.Work {
	k.works++
	return executor.Work{Key: key(k.works), Task: k.Task, Input: k.Input(k.works)}
}

// key is what keys look like.
func key(n int) string { return fmt.Sprintf("%0*x", executor.KeySize, 0xfeed0000+n) }
