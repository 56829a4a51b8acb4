package worker

import "time"

// Observer is told what happens, for metrics. It must be quick and safe for
// concurrent use.
type Observer interface {
	Began(queue string, waited time.Duration)       // waited: since its record was written
	Ended(queue, outcome string, ran time.Duration) // outcome: as events.Outcome prints, or pending
	Dropped(queue string)                           // a token that was taken before
}

type nobody struct{}

func (nobody) Began(string, time.Duration)         {}
func (nobody) Ended(string, string, time.Duration) {}
func (nobody) Dropped(string)                      {}

// PoolStats is what the slots of a pool do at the moment.
type PoolStats struct {
	Queues []string
	Slots  int
	Busy   int
}

// Stats are the pools in the order of the configuration. It may be called at
// any time.
func (t *Worker) Stats() []PoolStats {
	out := make([]PoolStats, len(t.pools))
	for i, p := range t.pools {
		out[i] = PoolStats{Queues: p.Queues, Slots: p.Slots, Busy: int(p.busy.Load())}
	}
	return out
}
