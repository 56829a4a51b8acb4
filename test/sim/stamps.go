package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// wrongStamps is the fault of brokers whose clocks are wrong.
const wrongStamps = "stamps"

// brokersModelled is how many brokers lead the partitions once their clocks differ.
const brokersModelled = 3

// brokerClocks are how far those of the brokers are ahead. Before the first fault all
// partitions have one leader, whose clock is right.
type brokerClocks struct {
	spread bool
	lasts  bool // beyond the last fault
	ahead  [brokersModelled]time.Duration
	strays map[int32]bool // partitions whose stamps have been wrong
}

// leader is the broker that leads a partition.
func (b *brokerClocks) leader(p int32) int32 {
	if !b.spread {
		return 0
	}
	return p % brokersModelled
}

// now is the time of the broker that leads a partition.
func (b *brokerClocks) now(p int32) time.Time { return time.Now().Add(b.ahead[b.leader(p)]) }

// drawStamps draws the faults of brokers' clocks, for some seeds, from dice of their own:
// those of other faults fall as if there were none.
func (o *Options) drawStamps() []Fault {
	if o.Embedded || len(o.Kinds) > 0 && !slices.Contains(o.Kinds, wrongStamps) {
		return nil
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x7374616d7073))
	if len(o.Kinds) == 0 && rng.IntN(4) > 0 {
		return nil
	}
	var all []Fault
	for range 1 + rng.IntN(2) {
		all = append(all, Fault{rng.IntN(o.Steps), wrongStamps, rng.Uint64()})
	}
	return all
}

// missetBroker sets the clock of a broker wrong, for a while or for good: planners go by
// the median. Sometimes it does so to two of three, which contradict each other or the
// third; then nobody may serve, and it does not last.
func (w *world) missetBroker(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	b := &w.c.clocks
	b.spread = true
	if b.ahead != [brokersModelled]time.Duration{} {
		return
	}
	wrong := rng.Perm(brokersModelled)[:1+rng.IntN(5)/4]
	for _, broker := range wrong {
		b.ahead[broker] = millis(rng, 1000, 600_000)
		if rng.IntN(2) == 0 {
			b.ahead[broker] *= -1
		}
		w.note("  the clock of broker %d is %v ahead", broker, b.ahead[broker])
	}
	for p := range w.c.partitions {
		b.strays[p] = b.strays[p] || b.ahead[b.leader(p)] != 0
	}
	if len(wrong) == 1 && w.c.partitions >= brokersModelled && rng.IntN(2) == 0 {
		b.lasts = true // of two leaders nobody could tell which one is right
		return
	}
	w.at(millis(rng, 500, 20_000), "the brokers' clocks are right again", w.setBrokers)
}

// setBrokers sets the clocks of the brokers right, but one that stays wrong.
func (w *world) setBrokers() {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if !w.c.clocks.lasts {
		w.c.clocks.ahead = [brokersModelled]time.Duration{}
	}
}
