package loop

import (
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Between the takeover and the outbox the cluster is asked for this and that,
// which may take longer than the lease lasts.
func TestE5WhatIsReleasedAgainLooksAtTheLeaseAsOfThen(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration
		sent  int
	}{"soon": {0, 1}, "late": {time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, Settings{})
			left := rows.Write{Key: rows.Key{Table: rows.Outbox, A: 1, B: 1}, Row: &outboxRow{Kind: machine.CancelEffect, Key: "w"}, Created: true}
			m.memory.Commit([]rows.Write{left})
			m.now = m.now.Add(c.takes)
			if err := m.p.Rerelease(); err != nil {
				t.Fatal(err)
			}
			if n := len(m.produced); n != c.sent {
				t.Errorf("%d effects were sent, want %d", n, c.sent)
			}
		})
	}
}
