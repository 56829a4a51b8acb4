package partition

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// What could not be sent when it was released is sent later only if the lease
// has its margin then.
func TestE5WhatIsSentLaterWaitsForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.log.Produce(&Outgoing{Kind: machine.CancelEffect, Key: "w", Value: []byte("1")})
		d.answer(kerr.TopicAuthorizationFailed)
		d.linger()
		d.settle()
		if n := len(d.broker.waiting); n > 0 {
			t.Errorf("%d were sent at the margin of the lease", n)
		}
		d.renew()
		d.answer(nil)
	})
}

// Between the takeover and the outbox the cluster is asked for this and that,
// which may take longer than the lease lasts.
func TestE5WhatIsReleasedAgainLooksAtTheLeaseAsOfThen(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration
		sent  int
	}{"soon": {0, 1}, "late": {time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, Settings{})
			s, err := store.Open(store.Options{Dir: "s", FS: vfs.NewMem()})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			left := rows.Write{Key: rows.Key{Table: rows.Outbox, A: 1, B: 1}, Row: &outboxRow{Kind: machine.CancelEffect, Key: "w"}, Created: true}
			if err := newStoreState(s, store.NewBudget(1<<10)).Commit(1, m.p.tail, []rows.Write{left}); err != nil {
				t.Fatal(err)
			}
			m.now, m.p.Stored = m.now.Add(c.takes), s
			if err := m.p.rerelease(s); err != nil {
				t.Fatal(err)
			}
			if n := len(m.produced); n != c.sent {
				t.Errorf("%d effects were sent, want %d", n, c.sent)
			}
		})
	}
}
