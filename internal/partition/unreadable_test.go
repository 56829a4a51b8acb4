package partition

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
)

func TestO2AnUnreadablePublishedLeaseIsWaitedOut(t *testing.T) {
	for _, c := range []struct {
		name, value string
		age         time.Duration
	}{
		{"no JSON", "{", 0},
		{"a time that is none", `{"authority":{"owner":"a/1","leased_until":"soon"}}`, 0},
		{"stamped before the lease", "{", 30 * 24 * time.Hour},
		{"stamped ahead of the clock", "{", -30 * 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				p := r.partitionOf("w")
				killed := r.killOwnerAfter(p, 30*time.Second)
				bad := kafka.Placed(r.names.Authority(), p, authorityKey(p), []byte(c.value))
				bad.Timestamp = killed.Add(-c.age)
				r.must(r.producer.ProduceSync(context.Background(), bad).FirstErr())
				b := r.start("b", p)
				defer b.leave()
				b.await(Owning)
				if waited := time.Since(killed); waited < 5*time.Second || waited > 11*time.Second {
					t.Errorf("the successor waited %s for a lease of 10 s", waited)
				}
			})
		})
	}
}

// A claimant whose own leases are shorter waits as long as those of the owner
// last: nothing else bounds a renewal that it cannot read.
func TestO2AnUnreadableLeaseLastsAsItsOwnersLeasesDo(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("store lost %t", lost), func(t *testing.T) {
			inBubble(t, func(r *rig) {
				p := r.partitionOf("w")
				r.settings.Lease = 40 * time.Second
				killed := r.killOwnerAfter(p, 3*time.Minute)
				r.must(r.producer.ProduceSync(context.Background(),
					kafka.Placed(r.names.Authority(), p, authorityKey(p), []byte("{"))).FirstErr())
				r.settings.Lease = 5 * time.Second
				name := "a"
				if lost {
					name = "b"
				}
				b := r.start(name, p)
				defer b.leave()
				b.await(Owning)
				if waited := time.Since(killed); waited < 35*time.Second || waited > 45*time.Second {
					t.Errorf("the successor waited %s for a lease of 40 s", waited)
				}
			})
		})
	}
}
