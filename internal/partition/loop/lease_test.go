package loop

import (
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
)

// A lease that an operator marks is seen as stale for a third of its term, and then renewed.
func TestAU08MarkedStaleKeepsTheRenewedLease(t *testing.T) {
	m := newModel(t, Settings{Lease: 10 * time.Second})
	m.now = m.now.Add(5 * time.Second)
	until := m.now.Add(10 * time.Second).UnixMilli()
	m.batch.Renewed = []Renewed{{Until: until}}
	m.mustStep()
	m.command("s", "_partition/0", "mark_stale", `{"reason":"odd","by":"ann","why":"test"}`)
	m.mustStep()
	m.ack()
	if l := m.p.lease; !l.Stale || l.StaleReason != "odd" || l.LeasedUntil != until {
		t.Errorf("the lease is %+v", l)
	}
	renew := func(r Renewed) runtime.Lease {
		m.batch.Renewed = []Renewed{r}
		m.mustStep()
		return m.p.lease
	}
	if l := renew(Renewed{Until: until + 1}); !l.Stale || l.LeasedUntil != until+1 {
		t.Errorf("a renewal that began before the mark leaves %+v", l)
	}
	if l := m.p.Renewed(); !l.Stale || l.StaleReason != "odd" {
		t.Errorf("the next renewal shows %+v", l)
	}
	m.now = m.now.Add(5 * time.Second) // its first commit takes long, and fails
	m.mustStep()
	if l := m.p.Renewed(); !l.Stale {
		t.Errorf("the renewal after one that failed shows %+v", l)
	}
	if l := renew(Renewed{Until: until + 2, Stale: true}); !l.Stale || l.StaleReason != "odd" {
		t.Errorf("a renewal that shows the mark leaves %+v", l)
	}
	m.now = m.now.Add(3 * time.Second)
	m.mustStep()
	if l := m.p.Renewed(); !l.Stale {
		t.Errorf("3 s later a renewal shows %+v", l)
	}
	m.now = m.now.Add(time.Second)
	m.mustStep()
	if l := m.p.Renewed(); l.Stale || l.StaleReason != "" {
		t.Errorf("4 s later a renewal shows %+v", l)
	}
	if l := renew(Renewed{Until: until + 3}); l.Stale {
		t.Errorf("a renewal does not clear stale (AU12): %+v", l)
	}
}
