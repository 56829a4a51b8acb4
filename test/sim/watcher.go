package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// watcher is a client that changes nothing: it reads what another one's workflow
// has come to, while that one and the planners are at it.
type watcher struct {
	*caller
	wf   string
	dice *rand.Rand
}

// watched are the kinds of reads, as often as they come.
var watched = []string{"workflow", "workflow", "results", "productions"}

// watcher is one of a workflow of the plan, by its number.
func (w *world) watcher(i int, wf string) *watcher {
	return &watcher{w.caller("watcher-" + wf), wf, rand.New(rand.NewPCG(w.o.Seed, 0x7761746368+uint64(i)))}
}

// mostWatched bounds the reads of a watcher, and watchEvery the time between two.
const (
	mostWatched = 8
	watchEvery  = time.Second
)

// watch reads until ctx ends, or it has seen enough.
func (u *watcher) watch(ctx context.Context) error {
	for range mostWatched {
		if err := workload.Pause(ctx, time.Duration(u.dice.Int64N(int64(watchEvery)))); err != nil {
			return err
		}
		if _, err := u.query(ctx, events.Query{Kind: watched[u.dice.IntN(len(watched))], Workflow: u.wf}); err != nil {
			return err
		}
	}
	return nil
}
