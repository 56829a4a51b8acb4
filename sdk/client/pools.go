package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// PoolSummary is how much of a pool of runners is used.
type PoolSummary struct {
	Name      string     `json:"name"`             // of a shard with its number, as images/3
	Shards    int        `json:"shards,omitempty"` // that the pool is spread over; 0: one, or it is a shard
	Connected uint64     `json:"connected"`        // runners, in each of their states
	Lost      uint64     `json:"lost"`
	Draining  uint64     `json:"draining"`
	Passed    uint64     `json:"passed_over"` // of the connected ones: those that get no new work
	Slots     uint64     `json:"slots"`       // of connected runners
	Free      uint64     `json:"free"`        // of those: that may be given to an attempt
	Queued    uint64     `json:"queued"`      // attempts that wait for a slot
	Running   uint64     `json:"running"`     // attempts that have one
	Oldest    *time.Time `json:"oldest,omitempty"`
	Waits     string     `json:"waits,omitempty"` // what the next attempt of the queue waits for, in words
}

// Pool is what a pool is at.
type Pool struct {
	PoolSummary
	Runners []Runner   `json:"runners"`
	More    bool       `json:"more_runners,omitempty"` // there are more than fit an answer; Client.Runners lists all
	Queue   []PoolWork `json:"queue"`                  // the first 100, in the order in which they get slots
	Asked   *PoolWork  `json:"asked,omitempty"`        // the attempt that was asked for; nil: the pool has none of that token
}

// Runner is a runner of a pool, or was one not long ago.
type Runner struct {
	ID        string          `json:"id"`
	Key       string          `json:"key"` // that it connects with
	Name      string          `json:"name"`
	Pool      string          `json:"pool"`
	Version   uint32          `json:"version"`
	State     string          `json:"state"` // connected, lost, draining or stopped
	Slots     uint32          `json:"slots"`
	Used      uint32          `json:"used"`
	Passed    string          `json:"passed_over,omitempty"` // why it gets no new work though it is connected
	Reason    string          `json:"reason,omitempty"`      // why it is in its state
	Executor  string          `json:"executor,omitempty"`    // that has its socket
	Names     []string        `json:"names"`                 // of tasks that it knows
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Work      []PoolWork      `json:"work"` // the first 100
	JoinedTS  *time.Time      `json:"joined_ts"`
	SeenTS    *time.Time      `json:"seen_ts"` // when the pool last recorded something of it
	DrainTS   *time.Time      `json:"drain_ts,omitempty"`
	ExpiredTS *time.Time      `json:"expired_ts,omitempty"` // when it is over unless it comes back; of one that is over: when that was
	StopTS    *time.Time      `json:"stop_ts,omitempty"`
}

// PoolWork is an attempt that a pool has.
type PoolWork struct {
	Workflow string    `json:"workflow"`
	Runnable string    `json:"runnable"`
	Attempt  uint32    `json:"attempt"`
	Queue    string    `json:"queue"`
	State    string    `json:"state"`              // queued, starting or running
	Shard    string    `json:"shard,omitempty"`    // of the pool that has it, as images/3; empty: the pool has one
	Place    uint64    `json:"place,omitempty"`    // in the queue of that shard, from 1 on
	Beyond   bool      `json:"beyond,omitempty"`   // that place or a later one
	Since    time.Time `json:"since"`              // when it was offered to the pool
	Stopping string    `json:"stopping,omitempty"` // why its runner was told to stop it

	// Of the attempt that was asked for, where it has a slot.
	Runner     string `json:"runner,omitempty"`     // its ID
	Executor   string `json:"executor,omitempty"`   // that has the runner's socket
	Address    string `json:"address,omitempty"`    // of that executor
	Connection uint64 `json:"connection,omitempty"` // its number of the socket
}

// Pools lists the pools that have runners, or work. Each is as of now, by a consistent read of its partition. A page may end before
// it is full. It is the gateway's: not over Kafka. Of o, Cursor and Limit count.
func (c *Client) Pools(ctx context.Context, o PageOptions) (*Page[PoolSummary], error) {
	raw, err := c.t.Query(ctx, Query{Kind: events.PoolsQuery, Cursor: o.Cursor, Limit: o.Limit})
	if err != nil {
		return nil, fmt.Errorf("pools: %w", err)
	}
	return decode[*Page[PoolSummary]]("pools", raw)
}

// PoolOptions say what of a pool is asked for.
type PoolOptions struct {
	Attempt string // the token of an attempt: Asked is that one
}

// Pool is a pool as of now: a consistent read. It is not found while no runner has connected to it, and nothing
// waits for one.
func (c *Client) Pool(ctx context.Context, name string, o PoolOptions) (*Pool, error) {
	if err := events.CheckShardName(name); err != nil {
		return nil, fmt.Errorf("pool: %w", err)
	}
	raw, err := c.t.Query(ctx, Query{Kind: events.PoolQuery, Workflow: events.PoolOf(name), Attempt: o.Attempt})
	if err != nil {
		return nil, fmt.Errorf("pool %s: %w", name, err)
	}
	return decode[*Pool]("pool "+name, raw)
}

// RunnerFilter chooses runners, and one page of their list.
type RunnerFilter struct {
	Pool   string // only those of this pool; empty: all, which is not over Kafka
	Cursor string // Next of the page before; empty: the first
	Limit  int    // 0: the default
}

// Runners lists runners, those that are over for a while too, as of now. A page may end before it is full.
func (c *Client) Runners(ctx context.Context, f RunnerFilter) (*Page[Runner], error) {
	q := Query{Kind: events.RunnersQuery, Cursor: f.Cursor, Limit: f.Limit}
	if f.Pool != "" {
		if err := events.CheckShardName(f.Pool); err != nil {
			return nil, fmt.Errorf("runners: %w", err)
		}
		q.Workflow = events.PoolOf(f.Pool)
	}
	raw, err := c.t.Query(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("runners: %w", err)
	}
	return decode[*Page[Runner]]("runners", raw)
}

// StopRunnerOptions of the stop of a runner. By needs both who and why.
type StopRunnerOptions struct {
	Now bool `json:"now,omitempty"` // what it has is lost at once
	By
}

// StopRunner stops a runner of a pool, by its ID or by the key that it connects with: it gets no more work, and ends once it has none, or
// its time to drain is over. It reports whether a planner has obeyed: false where none has answered in time, and then the word is in
// Kafka, and counts once one does.
func (c *Client) StopRunner(ctx context.Context, pool, runner string, o StopRunnerOptions) (obeyed bool, err error) {
	if err := events.CheckShardName(pool); err != nil {
		return false, fmt.Errorf("stop a runner: %w", err)
	}
	body, err := events.MarshalPlain(o)
	if err != nil {
		return false, fmt.Errorf("stop the runner %s: encode: %w", runner, err)
	}
	a, err := c.t.Command(ctx, Command{Name: "stop_runner", Workflow: events.PoolOf(pool), Runner: runner, Body: body, Wait: UntilDecided})
	if err != nil {
		return false, fmt.Errorf("stop the runner %s of the pool %s: %w", runner, pool, err)
	}
	return !a.Written, nil
}
