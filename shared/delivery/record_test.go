package delivery

import (
	"errors"
	"testing"
)

// Two ways lead from each open state, and none from an ended one; none leads to itself.
func TestBL07OnlyTheseTransitionsAreMade(t *testing.T) {
	states := []State{Pending, Notified, Delivered, Failed, Removed}
	allowed := map[[2]State]bool{
		{Pending, Notified}: true, {Pending, Failed}: true, {Notified, Delivered}: true, {Notified, Failed}: true,
	}
	for _, from := range states {
		for _, to := range states {
			err := from.To(to)
			if (err == nil) != allowed[[2]State{from, to}] {
				t.Errorf("from %s to %s: %v", from, to, err)
			}
			var invalid *InvalidTransition
			if err != nil && (!errors.As(err, &invalid) || invalid.From != from || invalid.To != to) {
				t.Errorf("from %s to %s: %#v", from, to, err)
			}
		}
	}
	for s, want := range map[State]bool{Pending: false, Notified: false, Delivered: true, Failed: true} {
		if s.Ended() != want {
			t.Errorf("%s has ended: %v", s, s.Ended())
		}
	}
}

func TestReasonsThatWait(t *testing.T) {
	for r := range reasons {
		want := r == SendUnconfirmed || r == LeaderMissingDeferred || r == DeferredNotInjectable
		if r.Waits() != want {
			t.Errorf("%s waits: %v", r, r.Waits())
		}
	}
}
