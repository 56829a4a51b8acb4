package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/heddle-run/heddle/internal/partition"
)

// watching is how long an operator looks for what a loss has blocked.
const watching = 40 * time.Second

// watchLosses lets an operator look, now and then, whether partitions are blocked because
// records of their inputs are gone, and accept that: for a while behind a fault, and once
// there are no more faults until the run is over.
func (w *world) watchLosses() {
	rng := rand.New(rand.NewPCG(w.o.Seed, 3+uint64(w.step)))
	until := time.Now().Add(watching)
	var look func()
	look = func() {
		for _, n := range w.nodes {
			w.acceptLosses(n, rng)
		}
		if w.calm || time.Now().Before(until) {
			w.at(millis(rng, 2000, 9000), "an operator looks for losses", look)
		}
	}
	w.at(millis(rng, 2000, 9000), "an operator looks for losses", look)
}

// acceptLosses accepts what the partitions of a planner are blocked by.
func (w *world) acceptLosses(n *node, rng *rand.Rand) {
	if n == nil {
		return
	}
	for p := range int32(len(w.owner)) {
		o := n.owners[p]
		if o == nil || o.Status().State != partition.Blocked {
			continue
		}
		loss, ok := partition.LossIn(o.Status().Why)
		if !ok || w.losses[loss] {
			continue
		}
		w.losses[loss] = true
		w.members.operator("accept_loss", p, millis(rng, 0, 3000), map[string]any{"log": loss.Log, "from": loss.From, "to": loss.To, "by": "an operator", "why": "it is gone"})
		w.resumeQuarantined(p, rng)
	}
}

// resumeQuarantined lets an operator resume the workflows of a partition, after a look at
// them.
func (w *world) resumeQuarantined(p int32, rng *rand.Rand) {
	for _, wf := range w.plan.Workflows {
		if w.audit.partition(wf.ID) != p {
			continue
		}
		w.at(millis(rng, 4000, 20_000), "an operator resumes "+wf.ID, func() {
			if w.evening {
				return
			}
			w.orders++
			id := fmt.Sprintf("order-%d", w.orders)
			w.work(func() {
				if _, err := w.caller(id).command(w.ctx, "resume", wf.ID, id, map[string]any{"by": "an operator", "why": "it is whole"}); err != nil && w.ctx.Err() == nil {
					w.fail("a resume after a loss: %w", err)
				}
			})
		})
	}
}
