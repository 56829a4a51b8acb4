package runtime

import "time"

// SchemaVersion is the version of all records of this package.
const SchemaVersion = 1

// Record is what a partition's owner publishes about the partition.
type Record struct {
	SchemaVersion int         `json:"schema_version"`
	Authority     Authority   `json:"authority"`
	Backlog       Backlog     `json:"backlog"`
	Replay        Replay      `json:"replay"`
	Durability    *Durability `json:"durability"`
	Checkpoint    *Checkpoint `json:"checkpoint"`
	Epochs        []Epoch     `json:"epochs"`  // of the last owners, oldest first
	Notes         []string    `json:"notes"`   // what an operator should know and does not block
	Blocked       *string     `json:"blocked"` // why nobody may serve the partition before an operator acts; null: nothing is known
}

// Authority is the lease of a partition. A free one has nulls and Stale false,
// unless it was marked stale while free.
type Authority struct {
	Owner       *string `json:"owner"`        // instance, one per process start
	LeaseID     *string `json:"lease_id"`     // of this acquisition
	LeasedUntil *string `json:"leased_until"` // RFC 3339, UTC
	Stale       bool    `json:"stale"`
	StaleReason *string `json:"stale_reason"`
	Epoch       *uint64 `json:"epoch"`
}

// Held makes the lease of an owner.
func Held(owner, leaseID string, until time.Time, epoch uint64) Authority {
	text := FormatTime(until)
	return Authority{Owner: &owner, LeaseID: &leaseID, LeasedUntil: &text, Epoch: &epoch}
}

// Backlog counts the open dispatches of a partition, and those that have ended of late: the newest 1,000 or so of the
// last 10 minutes.
type Backlog struct {
	Pending            uint64  `json:"pending"`
	Notified           uint64  `json:"notified"`
	Delivered          uint64  `json:"delivered"`
	Failed             uint64  `json:"failed"`
	OldestPendingSince *string `json:"oldest_pending_since"` // RFC 3339, UTC
	Deferred           uint64  `json:"deferred"`

	// Queues has the dispatches by task queue. Of many queues it has those whose oldest pending
	// dispatch waits longest.
	Queues map[string]QueueBacklog `json:"queues,omitempty"`

	// Pools has the pools of runners that are entities of the partition, by name. Of many it has those whose next attempt
	// waits longest.
	Pools map[string]PoolBacklog `json:"pools,omitempty"`
}

// PoolBacklog is what a pool of runners is at, whichever partitions its attempts are of.
type PoolBacklog struct {
	Connected         uint64  `json:"connected"` // runners, in each of their states
	Lost              uint64  `json:"lost"`
	Draining          uint64  `json:"draining"`
	PassedOver        uint64  `json:"passed_over"`         // of the connected ones: those that get no new work
	Slots             uint64  `json:"slots"`               // of connected runners
	Free              uint64  `json:"free"`                // of those: that may be given to an attempt
	Queued            uint64  `json:"queued"`              // attempts that wait for a slot
	Running           uint64  `json:"running"`             // attempts that have one
	OldestQueuedSince *string `json:"oldest_queued_since"` // of the next attempt: RFC 3339, UTC
}

// QueueBacklog counts the dispatches of a partition in one task queue.
type QueueBacklog struct {
	Pending            uint64  `json:"pending"`
	Notified           uint64  `json:"notified"`
	Delivered          uint64  `json:"delivered"`
	Failed             uint64  `json:"failed"`
	Deferred           uint64  `json:"deferred"`             // of the pending ones: whom they are to inform is not there
	OldestPendingSince *string `json:"oldest_pending_since"` // RFC 3339, UTC
}

// Replay says how far the partition is behind its logs.
type Replay struct {
	Cursor                     *string `json:"cursor"`         // committed: topic/partition@offset where a restore begins to read the journal; null: none
	PendingEvents              uint64  `json:"pending_events"` // journal and input records below the ends seen at acquisition
	LastReplayedEventID        *string `json:"last_replayed_event_id"`
	DeferredLeaderNotification bool    `json:"deferred_leader_notification"`
}

// Checkpoint is the partition's last durable cursor.
type Checkpoint struct {
	At         string `json:"at"` // RFC 3339, UTC
	IntervalMs int64  `json:"interval_ms"`
	DirtyBytes uint64 `json:"dirty_bytes"`
}

// Epoch is the first place of an owner's tenure in the journal.
type Epoch struct {
	Epoch  uint64 `json:"epoch"`
	Offset int64  `json:"offset"`
}

// FormatTime is the only form of times in these records.
func FormatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
