package pool

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/events"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("rapid.nofailfile", "true"); err != nil { // of flaws that are noticed
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// noticing is a test that may fail.
type noticing struct {
	*testing.T
	failed bool
}

func (n *noticing) Errorf(string, ...any) { n.failed = true }
func (n *noticing) Error(...any)          { n.failed = true }
func (n *noticing) Fatalf(string, ...any) { n.FailNow() }
func (n *noticing) Fatal(...any)          { n.FailNow() }
func (n *noticing) Fail()                 { n.failed = true }
func (n *noticing) Failed() bool          { return n.failed }
func (n *noticing) Logf(string, ...any)   {}
func (n *noticing) Log(...any)            {}
func (n *noticing) FailNow()              { n.failed = true; runtime.Goexit() }

// set gives a flag a value for as long as a test takes.
func set(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	usual := f.Value.String()
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Value.Set(usual); err != nil {
			t.Error(err)
		}
	})
}

// Each flaw that breaks a promise of a pool is noticed by walks.
func TestEveryFlawIsNoticed(t *testing.T) {
	set(t, "rapid.shrinktime", "1ms")
	set(t, "rapid.checks", "2000") // at most: the first that notices ends it
	for name, f := range map[string]Flaws{
		"a slot is freed twice":                {FreedTwice: true},
		"two sockets of one runner are served": {BothServed: true},
		"missed commands are skipped":          {MissedSkipped: true},
		"what a lost session had is forgotten": {Forgotten: true},
		"the newest goes before what waits":    {Overtaken: true},
	} {
		t.Run(name, func(t *testing.T) {
			n, over := &noticing{T: t}, make(chan struct{})
			go func() {
				defer close(over)
				rapid.Check(n, func(t *rapid.T) { walks(t, Options{Overflow: true}, f) })
			}()
			if <-over; !n.failed {
				t.Error("no walk has noticed it")
			}
		})
	}
}

// repeats lets a runner say again what has counted, and come back.
func repeats(t *testing.T, f Flaws) (counted uint64) {
	w := newWorld(t, Options{})
	w.m.flaws = f
	r := w.connect("a", 1, 4)
	w.offer(1, 2)
	r.says(events.TaskRunning, 1, 2)
	r.events = 0
	r.says(events.TaskRunning, 1)
	return r.again("x").counted
}

// That events count twice, the next welcome tells.
func TestEventsThatCountTwiceAreNoticed(t *testing.T) {
	if sound, flawed := repeats(t, Flaws{}), repeats(t, Flaws{AppliedTwice: true}); sound != 2 || flawed == sound {
		t.Errorf("%d events count, and with the flaw %d; want 2 and others", sound, flawed)
	}
}

// replaced lets another process take the place of one that has begun an attempt, and returns what it is told to begin.
func replaced(t *testing.T, f Flaws) []int {
	w := newWorld(t, Options{})
	w.m.flaws = f
	r := w.connect("a", 1, 4)
	w.offer(1)
	r.says(events.TaskRunning, 1)
	r.hello.Instance, r.received = "another", 0
	again := &runner{w: w, hello: r.hello}
	return again.again("x").started()
}

// That an attempt begins again in a process that does not know of it, what that is told shows.
func TestATaskThatBeginsAgainIsNoticed(t *testing.T) {
	if sound, flawed := replaced(t, Flaws{}), replaced(t, Flaws{BegunAgain: true}); len(sound) != 0 || len(flawed) != 1 {
		t.Errorf("it is told to begin %v, and with the flaw %v; want none, and the one", sound, flawed)
	}
}
