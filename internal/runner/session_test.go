package runner_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/internal/runner"
	"github.com/heddle-run/heddle/shared/frames"
)

// Whatever happens to sockets: no attempt is started twice, no event is missing or applied twice, and each end is told.
func TestWhateverHappensEachEndIsToldOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		m.settle(t)
		ops := m.ops()
		names := append(slices.Sorted(mapKeys(ops)), "connect", "connect", "start", "start", "end", "end")
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			ops[rapid.SampledFrom(names).Draw(t, "op")](t)
		}
		m.rest(t)
		for token := range m.ended { // order: each is looked at by itself
			ends := 0
			for _, s := range m.states[token] {
				if s == frames.StateStopped {
					ends++
				}
			}
			// One that has ended before another session began may have been told to both: its token says so.
			if ends == 0 || ends > 1 && !slices.Contains(m.unsent, token) {
				t.Errorf("the end of %s was told %d times: %v", token, ends, m.states[token])
			}
		}
		for _, c := range m.commands {
			if start, ok := c.Inner.(*frames.StartTask); ok && !slices.Contains(m.states[start.Token], frames.StateStopped) {
				t.Errorf("%s was to start, and its end was not told: %v", start.Token, m.states[start.Token])
			}
		}
		m.StopNow(m.now)
		m.settle(t)
		for id, n := range m.requests { // order: each is looked at by itself
			if n != 1 {
				t.Errorf("request %d has %d answers", id, n)
			}
		}
		if !m.isOver || m.over != nil || !m.Next().IsZero() {
			t.Errorf("it is over: %v, %v; next is %v", m.isOver, m.over, m.Next())
		}
	})
}

func mapKeys[V any](all map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range all { // order: sorted by the caller
			if !yield(k) {
				return
			}
		}
	}
}

// A runner that stops ends for one of the reasons that it may have, within its time.
func TestADrainEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		m.settle(t)
		ops := m.ops()
		names := append(slices.Sorted(mapKeys(ops)), "connect", "connect", "start", "start")
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			ops[rapid.SampledFrom(names).Draw(t, "op")](t)
		}
		m.Stop(m.now)
		m.settle(t)
		began := m.now
		for m.now.Before(began.Add(121*time.Second)) && !m.isOver {
			if m.welcomed {
				m.Received(m.now, &frames.ToClientPong{})
			}
			if m.socket && rapid.IntRange(0, 100).Draw(t, "drop") == 0 {
				m.drop(t)
			}
			m.wait(t, time.Second)
		}
		if !m.isOver || m.over != nil {
			t.Errorf("121 s after the stop it is over: %v, %v", m.isOver, m.over)
		}
		for _, token := range m.running {
			if !m.halted[token] {
				t.Errorf("%s goes on", token)
			}
		}
	})
}

func TestAFinalCloseIsTheEnd(t *testing.T) {
	for _, c := range frames.Closes() {
		m := newModel()
		m.Take()
		m.Opened(m.now)
		m.Broken(m.now, c)
		var err error
		over := false
		for _, a := range m.Take() {
			if o, ok := a.(runner.Over); ok {
				over, err = true, o.Err
			}
		}
		if want := c.Final() || c == frames.CloseInvalidURL; over != want || over && errors.Is(err, runner.ErrEvicted) != c.Final() {
			t.Errorf("%s: over is %v, %v", c.Reason, over, err)
		}
	}
}
