package events

import (
	"cmp"
	"slices"
)

// What bounds a PoolState.
const (
	MaxShownRunners = 500
	MaxShownWork    = 100
)

// Add adds what a shard is at to what its pool is at. Call Settle behind the last.
func (v *PoolState) Add(shard *PoolState) {
	v.Connected += shard.Connected
	v.Lost += shard.Lost
	v.Draining += shard.Draining
	v.Passed += shard.Passed
	v.Slots += shard.Slots
	v.Free += shard.Free
	v.Queued += shard.Queued
	v.Running += shard.Running
	if shard.Oldest != "" && (v.Oldest == "" || shard.Oldest < v.Oldest) {
		v.Oldest, v.Waits = shard.Oldest, ""
		if shard.Waits != "" {
			v.Waits = "in " + shard.Name + ", " + shard.Waits
		}
	}
	v.Runners = append(v.Runners, shard.Runners...)
	v.More = v.More || shard.More
	for _, w := range shard.Queue {
		w.Shard = shard.Name
		v.Queue = append(v.Queue, w)
	}
	if shard.Asked != nil {
		v.Asked = shard.Asked
		v.Asked.Shard = shard.Name
	}
}

// Settle puts the queue in order, by the places in the queues of the shards, and leaves out what is beyond the bounds of an answer.
func (v *PoolState) Settle() {
	slices.SortStableFunc(v.Queue, func(a, b PoolWork) int { return cmp.Compare(a.Place, b.Place) })
	v.Queue = v.Queue[:min(len(v.Queue), MaxShownWork)]
	if len(v.Runners) > MaxShownRunners {
		v.Runners, v.More = v.Runners[:MaxShownRunners], true
	}
}

// Empty reports whether a pool has neither runners nor attempts.
func (v *PoolState) Empty() bool {
	return len(v.Runners) == 0 && v.Queued+v.Running+v.Connected+v.Lost+v.Draining == 0
}
