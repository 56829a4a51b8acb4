package events

import "github.com/heddle-run/heddle/shared/wire"

// PoolResized is another number of shards that a pool has by now. Runners that belong to another one of them go there once they
// have no work.
type PoolResized struct{ Shards int }

func (*PoolResized) number() int { return 130 }

// Fields implements wire.Message.
func (e *PoolResized) Fields(c *wire.Codec) { wire.Int(c, 1, "shards", &e.Shards) }

// RunnerRedirected is a new socket whose runner belongs to another shard of the pool: its executor greets that one.
type RunnerRedirected struct {
	To    Connection
	Key   string
	Shard string // id
}

func (*RunnerRedirected) number() int { return 131 }

// Fields implements wire.Message.
func (e *RunnerRedirected) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "to", &e.To)
	wire.String(c, 2, "key", &e.Key)
	wire.Name(c, 3, "shard", &e.Shard)
}

// SlotsAsked is a shard of a pool that asks others for free slots, as attempts wait that no runner of its own takes.
type SlotsAsked struct{ Shards []string } // ids

func (*SlotsAsked) number() int { return 132 }

// Fields implements wire.Message.
func (e *SlotsAsked) Fields(c *wire.Codec) { c.Strings(1, "shards", &e.Shards) }

// SlotsSpared is the answer of a shard that has free slots, for which nothing waits.
type SlotsSpared struct {
	Shard string // id of the one that has asked
	Slots uint64
}

func (*SlotsSpared) number() int { return 133 }

// Fields implements wire.Message.
func (e *SlotsSpared) Fields(c *wire.Codec) {
	wire.Name(c, 1, "shard", &e.Shard)
	wire.Int(c, 2, "slots", &e.Slots)
}
