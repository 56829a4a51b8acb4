package pool

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// Settings are what pools go by. They count when something is decided; what was decided is applied again whatever
// they are then. Zero fields take the defaults of Complete.
type Settings struct {
	Threshold time.Duration // without a socket behind which a session is over
	Confirm   time.Duration // within which a runner must say that a task runs, or that it has stopped
	Drain     time.Duration // that a draining runner has for the tasks that it runs
	Silence   time.Duration // of an executor behind which its sockets are taken for gone
	Remember  time.Duration // that sessions that are over are listed for, and forestalled offers refused
	Recheck   time.Duration // behind which a workflow is asked for an attempt that runs, and a runner connects again of which nothing was heard
	Ask       time.Duration // that an attempt waits in a shard before that asks others for free slots; they are asked again, each time later

	Pools map[string]Options // by name; those that are not listed have none
}

// Options are those of one pool.
type Options struct {
	Queues   []string // whose attempts it runs; no workers take them
	Overflow bool     // work goes to runners of older versions, too, where the newest have no room; else it waits
	Upgrade  bool     // runners of older versions drain once one of a newer version has come; else they get no new work
	Shards   int      // entities that its work and its runners are spread over, and thus over partitions; 0: 1
}

// Complete fills in the defaults.
func (s Settings) Complete() Settings {
	for _, f := range []struct {
		field *time.Duration
		usual time.Duration
	}{
		{&s.Threshold, 15 * time.Second}, {&s.Confirm, 30 * time.Second}, {&s.Drain, 2 * time.Minute},
		{&s.Silence, 15 * time.Second}, {&s.Remember, 10 * time.Minute}, {&s.Recheck, 10 * time.Minute}, {&s.Ask, 250 * time.Millisecond},
	} {
		if *f.field == 0 {
			*f.field = f.usual
		}
	}
	return s
}

// Bindings are the names of the pools by the queues whose attempts they run.
func (s Settings) Bindings() map[string]string {
	bound := map[string]string{}
	for name, o := range s.Pools { // order: a queue is in one pool only
		for _, queue := range o.Queues {
			bound[queue] = name
		}
	}
	return bound
}

// Shards are how many shards pools have, by name; those that are not listed have one.
func (s Settings) Shards() map[string]int {
	all := map[string]int{}
	for name, o := range s.Pools { // order: each is a pool by itself
		if o.Shards > 1 {
			all[name] = o.Shards
		}
	}
	return all
}

// Check reports what is wrong with the settings of pools; nil: nothing.
func (s Settings) Check() error {
	bound := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Pools)) {
		if err := events.CheckPoolName(name); err != nil {
			return err
		}
		if n := s.Pools[name].Shards; n < 0 || n > events.MaxShards {
			return fmt.Errorf("pool %s: it has %d shards, want 1 to %d", name, n, events.MaxShards)
		}
		for _, queue := range s.Pools[name].Queues {
			if err := policy.CheckQueue(queue); err != nil {
				return fmt.Errorf("pool %s: %w", name, err)
			}
			if other, is := bound[queue]; is {
				return fmt.Errorf("the queue %q is bound to the pools %s and %s: want one", queue, other, name)
			}
			bound[queue] = name
		}
	}
	return nil
}

// What a pool bounds. Runners and work come from outside.
const (
	MaxSessions = 5000 // of a pool that are not over
	maxUnheeded = 1024 // commands that a runner has not acknowledged, beside four for each of its slots

	mostHeld   = 1000      // attempts that one record gives up, but those of one session are not parted
	mostSent   = 512 << 10 // bytes of tasks in one record to a runner, but one task is not parted
	perCommand = 64        // bytes beside its task and its token

	mostEach = 128 // attempts that one record gives, or sessions that it looks after
)
