package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// placesWait is how long a reading waits for what a pool says of its queue.
const placesWait = 2 * time.Second

// explain adds to what runnables wait for what their planner does not know: whether anybody takes from their queue, and
// the place of an attempt in the queue of a pool.
func (g *Gateway) explain(ctx context.Context, items []json.RawMessage) error {
	all := make([]Runnable, len(items))
	for i, raw := range items {
		if err := json.Unmarshal(raw, &all[i]); err != nil {
			return fmt.Errorf("decode a runnable: %w", err)
		}
	}
	said := map[int]bool{}
	say := func(i int, waitsFor string) { all[i].WaitsFor, said[i] = waitsFor, true }
	g.noTakers(ctx, all, say)
	g.places(ctx, all, say)
	for i := range said {
		raw, err := json.Marshal(all[i])
		if err != nil {
			return fmt.Errorf("encode a runnable: %w", err)
		}
		items[i] = raw
	}
	return nil
}

// places says of the attempts that wait in the queue of a pool at which place they are, of as many of each pool as one question
// names. Where a pool does not say, the planner's words stay.
func (g *Gateway) places(ctx context.Context, all []Runnable, say func(i int, waitsFor string)) {
	waiting := map[string][]int{} // by pool
	for i := range all {
		r := &all[i]
		if name := r.Pool; name != "" && r.Token != nil && strings.HasPrefix(r.WaitsFor, events.AwaitsSlot(name)) && len(waiting[name]) < events.MaxPlaces {
			waiting[name] = append(waiting[name], i)
		}
	}
	if len(waiting) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, placesWait)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(waiting)) {
		var tokens []string
		for _, i := range waiting[name] {
			tokens = append(tokens, *all[i].Token)
		}
		body, err := g.requests.Read(ctx, events.Query{Kind: events.PlacesQuery, Workflow: events.PoolOf(name), Filter: strings.Join(tokens, ",")})
		var is events.PoolPlaces
		if err == nil {
			err = json.Unmarshal(body, &is)
		}
		if err != nil {
			g.logger.Warn("cannot tell the places of attempts in the queue of a pool", "pool", name, "error", err)
			continue
		}
		for _, i := range waiting[name] {
			if place := is.Places[*all[i].Token]; place > 0 {
				say(i, slotOf(name, place, &is)+strings.TrimPrefix(all[i].WaitsFor, events.AwaitsSlot(name)))
			}
		}
	}
}

// slotOf is what an attempt waits for at a place of the queue of a pool.
func slotOf(pool string, place uint64, is *events.PoolPlaces) string {
	s := fmt.Sprintf("a free slot of a runner of the pool %q: it is number %d of %d in the queue", pool, place, is.Queued)
	if is.Waits != "" {
		s += ", and " + is.Waits
	}
	return s
}
