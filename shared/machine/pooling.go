package machine

import (
	"maps"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// Pooling is a machine whose entities are pools of runners, for those who count them.
type Pooling interface {
	// Pools tells of at most so many pools: first of those whose next attempt has waited longest. It changes nothing.
	Pools(tx *rows.Tx, now int64, most int) []events.PoolSummary
}

// Pools implements Pooling: of the first of the machines that has pools.
func (k Kinds) Pools(tx *rows.Tx, now int64, most int) []events.PoolSummary {
	for _, kind := range slices.Sorted(maps.Keys(k.Others)) {
		if pooling, ok := k.Others[kind].(Pooling); ok {
			return pooling.Pools(tx, now, most)
		}
	}
	return nil
}
