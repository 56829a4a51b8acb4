package runtime

import "time"

// Snapshot is a partition as readiness shows it.
type Snapshot struct {
	SchemaVersion int         `json:"schema_version"`
	Authority     Authority   `json:"authority"`
	Backlog       Backlog     `json:"backlog"`
	Replay        Replay      `json:"replay"`
	Durability    *Durability `json:"durability"`
	Readiness     Readiness   `json:"readiness"`
}

// Readiness is ready exactly when Reasons is empty.
type Readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"`
}

// Partition is a snapshot in an aggregate.
type Partition struct {
	Partition int32 `json:"partition"`
	Snapshot
	Checkpoint *Checkpoint `json:"checkpoint"` // the newest one; null: there is none
}

// Aggregate is the readiness of a whole deployment: ready exactly when every
// partition has a ready owner. Warnings never block.
type Aggregate struct {
	SchemaVersion int         `json:"schema_version"`
	Ready         bool        `json:"ready"`
	Reasons       []string    `json:"reasons"`
	Warnings      []string    `json:"warnings"`
	Partitions    []Partition `json:"partitions"`
}

// AggregateKey is the key of the aggregate on the readiness topic; a
// partition's snapshot has its number in decimal.
const AggregateKey = "all"

// AggregateEvery is how long the aggregate goes at most without being published
// again, changed or not: an older one says that nobody looks any more.
const AggregateEvery = 10 * time.Second
