package worker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-run/heddle/internal/adapter"
	core "github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/executor"
)

// ServeOptions say how the attempts of a queue are handed over.
type ServeOptions struct {
	// Open is how many works this worker has handed over at a time; 1000. What is more waits in the queue.
	Open int
	// Every is the time between two questions how a work is doing; 1 s. A new work is asked about more often.
	Every time.Duration
}

const defaultOpen = 1000

// served is a queue whose attempts an adapter gets.
type served struct {
	queue   string
	adapter executor.Adapter
	options ServeOptions
}

// Serve makes w hand the attempts of a queue over to an adapter, whatever their tasks are. It is for the time before
// Run; an adapter that is nil, options that are negative, and a queue that has an adapter already are errors of Run.
// Tasks that Handle registers have other queues, and Options.Slots and Options.Interceptors are theirs.
func Serve(w *Worker, queue string, a executor.Adapter, o ServeOptions) {
	switch {
	case w.running:
		w.errs = append(w.errs, fmt.Errorf("worker: the queue %s was given to an adapter after Run", queue))
	case a == nil || o.Open < 0 || o.Every < 0:
		w.errs = append(w.errs, fmt.Errorf("worker: the adapter of the queue %s is nil, or its options %+v are negative", queue, o))
	case slices.ContainsFunc(w.served, func(s served) bool { return s.queue == queue }):
		w.errs = append(w.errs, fmt.Errorf("worker: the queue %s has two adapters", queue))
	default:
		w.served = append(w.served, served{queue, a, o})
	}
}

// pool is the slots of the queue, in a worker that takes nothing more once stopping is closed.
func (s *served) pool(w *Worker, stopping <-chan struct{}) core.Pool {
	h := adapter.New(adapter.Config{Adapter: s.adapter, Stopping: stopping, Every: s.options.Every, Logger: w.options.Logger})
	return core.Pool{
		Queues: []string{s.queue}, Slots: cmp.Or(s.options.Open, defaultOpen),
		Lookup: func(string) (core.Handler, bool) { return h, true }, Cancelled: h.Cancelled,
	}
}
