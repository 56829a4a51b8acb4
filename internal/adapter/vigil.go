package adapter

import (
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/shared/events"
)

const (
	// vigilEvery is between two questions about a work that tells of its end itself.
	vigilEvery = 5 * time.Second
	// vigilMax is how many such works are asked about: those that have ended are among them, as nobody tells this executor.
	vigilMax = 1000
)

// vigil asks about works that tell of their ends by their attempts' tokens, and may die without a word.
type vigil struct {
	watch    watch
	stopping <-chan struct{}

	mu  sync.Mutex
	all []*kept // oldest first
}

// kept is a work that is asked about until it has ended, or there is no use in it any more.
type kept struct {
	*awaited
	over chan struct{} // closed: newer ones take its place
}

// keep asks about the work of an attempt from now on, in place of the oldest one where they are many.
func (v *vigil) keep(a *worker.Attempt, ref executor.Ref) {
	k := &kept{v.watch.add(ref), make(chan struct{})}
	v.mu.Lock()
	v.all = append(v.all, k)
	if len(v.all) > vigilMax {
		close(v.all[0].over)
		v.all = v.all[1:]
	}
	v.mu.Unlock()
	go v.await(a, k)
}

// await waits for the end of a work that its adapter knows, as long as the attempt may last and its executor lives.
func (v *vigil) await(a *worker.Attempt, k *kept) {
	defer v.forget(k)
	timeout := make(<-chan time.Time)
	if a.Spec.Timeout > 0 {
		timer := time.NewTimer(time.Duration(min(a.Spec.Timeout, events.MaxMilliseconds)) * time.Millisecond)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case state := <-k.state:
		for !a.EndLater(end(state)) {
			select {
			case <-time.After(soonest): // its handler is about to leave it
			case <-v.stopping:
				return
			}
		}
	case <-timeout:
	case <-k.over:
	case <-v.stopping:
	}
}

func (v *vigil) forget(k *kept) {
	v.watch.remove(k.awaited)
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, one := range v.all {
		if one == k {
			v.all = append(v.all[:i:i], v.all[i+1:]...)
			return
		}
	}
}
