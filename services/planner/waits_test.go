package planner

import "testing"

// A runnable that waits for a permit has a timer that asks for it again: that is not when the permit comes.
func TestWhenAPermitComesIsNotSaid(t *testing.T) {
	for _, c := range []struct {
		r    runnable
		want any
	}{
		{runnable{Status: runWaiting, Due: 1000}, "1970-01-01T00:00:01.000Z"},
		{runnable{Status: runWaiting, Due: 1000, Permit: &permit{}}, nil},
		{runnable{Status: runActive, Due: 1000, Permit: &permit{}}, "1970-01-01T00:00:01.000Z"},
		{runnable{Status: runReady}, nil},
	} {
		if got := dueOf(&c.r); got != c.want {
			t.Errorf("due at %d, permit %v: got %v, want %v", c.r.Due, c.r.Permit, got, c.want)
		}
	}
}
