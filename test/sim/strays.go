package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/shared/events"
)

// strayInput writes commands to a partition that they do not belong to, as clients
// do that hash keys in another way. Each stands nowhere else, and starts a workflow
// of its own. Mostly their owner dies when it has said that it forwards one, and
// who succeeds it ends before it serves.
func (w *world) strayInput(rng *rand.Rand) {
	if w.c.partitions < 2 {
		return
	}
	p := int32(rng.IntN(int(w.c.partitions)))
	w.c.mu.Lock()
	for range 1 + rng.IntN(3) {
		w.injector.put(w.stray(p))
	}
	w.c.mu.Unlock()
	if rng.IntN(4) == 0 {
		return
	}
	w.when(func() bool { return w.forwarding(p) != nil }, millis(rng, 1000, 5000), "an owner that forwards dies, if one does", func() {
		if n := w.forwarding(p); n != nil && w.nodes[n.slot] == n {
			w.injector.killed(n, rng)
			w.stumble(p, rng)
		}
	})
}

// stray is a command that starts a workflow of its own, in the wrong partition.
func (w *world) stray(p int32) *kgo.Record {
	for {
		w.strays++
		id := fmt.Sprintf("stray-%d", w.strays)
		if w.audit.partition(id) != p {
			body := fmt.Sprintf(`{"definition":%s,"input":%d}`, anyOne, w.strays)
			return kafka.Placed(w.c.names.Commands(), p, []byte(id), []byte(body),
				kafka.Header(events.HeaderID, []byte(id)), kafka.Header(events.HeaderSource, []byte("sim")),
				kafka.Header(events.HeaderType, []byte(events.CommandType("start"))))
		}
	}
}

// forwarding is the planner that has a stray of a partition on its way, or nil.
func (w *world) forwarding(p int32) *node {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for _, s := range w.c.sorted() {
		if s.owner != nil && !s.owner.dead && s.next() != nil &&
			strings.Contains(s.name, "/"+partitionName(p)+"/effect/"+w.c.names.Commands()+"/stray-") {
			return s.owner
		}
	}
	return nil
}

// stumble ends the next tenures of a partition between what they replay and what
// they serve: their takeover fails, or what they read, or the group takes the
// partition away while they wait for the lease.
func (w *world) stumble(p int32, rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	s := &w.stumbles[p]
	switch rng.IntN(3) {
	case 0:
		s.takeovers = 1 + rng.IntN(2)
	case 1:
		s.reads = 1 + rng.IntN(2)
	default:
		w.when(func() bool { return w.waits(p) }, 20*time.Second, "an owner that waits for the lease is revoked", func() {
			slot := w.owner[p]
			if !w.waits(p) {
				return
			}
			w.nodes[slot].revoke(p)
			w.at(millis(rng, 0, 2000), "the group moves on", func() { w.members.assign(p, slot) })
		})
	}
}

// waits reports whether the planner that was given a partition waits for its lease.
func (w *world) waits(p int32) bool {
	n := w.nodes[w.owner[p]]
	return n != nil && n.owners[p] != nil && n.owners[p].Status().State == partition.Waiting
}

// stumbles are the tenures of a partition that are to end before they serve. The
// cluster's lock guards them.
type stumbles struct {
	takeovers int // transactions of takeovers that fail
	reads     int // of the leases that fail
}

var errAway = errors.New("the coordinator is away")

// takeover says what becomes of a takeover.
func (n *node) takeover(p int32) error {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if s := &n.w.stumbles[p]; s.takeovers > 0 && !n.w.calm {
		s.takeovers--
		return errAway
	}
	return nil
}

// misread reports whether a reading of a log fails.
func (n *node) misread(at place) error {
	if s := &n.w.stumbles[at.partition]; at.topic == n.c.names.Authority() && s.reads > 0 && !n.w.calm {
		s.reads--
		return kerr.CorruptMessage
	}
	return nil
}
