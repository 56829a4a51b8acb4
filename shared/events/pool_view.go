package events

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Kinds of queries to pools. Those of lists ask a partition, as PoolPrefix, for what it has.
const (
	PoolQuery    = "pool"    // of a pool: PoolState; with the token of an attempt as the filter, that one too
	PoolsQuery   = "pools"   // of a partition: PoolList
	RunnersQuery = "runners" // of a partition, or of a pool: RunnerList
	AttemptQuery = "attempt" // of a pool: PoolWork of the attempt whose token is the filter; of a workflow: AttemptPlace of that
	PlacesQuery  = "places"  // of a pool: PoolPlaces of the attempts whose tokens are the filter, with commas between
	RunnerQuery  = "runner"  // of a pool: PoolRunner, of the runner whose id or key is the filter
)

// AttemptPlace is where an open attempt was sent.
type AttemptPlace struct {
	Pool string `json:"pool,omitempty"` // name; empty: it is for workers
}

// PoolList is a page of the pools that have runners, or work.
type PoolList = EntityList[PoolSummary]

// RunnerList is a page of runners, by their pools.
type RunnerList = EntityList[RunnerState]

// RunnerCursor is behind a runner of a list of runners: behind a session of a pool, by the pool's id.
func RunnerCursor(pool string, session uint64) string {
	return pool + "/" + strconv.FormatUint(session, 10)
}

// ParseRunnerCursor is the inverse of RunnerCursor.
func ParseRunnerCursor(cursor string) (pool string, session uint64, err error) {
	last := max(0, strings.LastIndexByte(cursor, '/')) // a shard has one in its id
	pool = cursor[:last]
	if _, err = ParsePoolID(pool); err == nil {
		session, err = strconv.ParseUint(cursor[last+1:], 10, 64)
	}
	if err != nil || RunnerCursor(pool, session) != cursor {
		return "", 0, fmt.Errorf("%q is not of the form %s", cursor, RunnerCursor(PoolOf("NAME"), 17))
	}
	return pool, session, nil
}

// PoolSummary is how much of a pool is used, or of a shard of one.
type PoolSummary struct {
	Name      string `json:"name"`
	Shards    int    `json:"shards,omitempty"` // that the pool is spread over; of a shard, and of a pool that has one, it is not told
	Connected uint64 `json:"connected"`        // runners, in each of their states
	Lost      uint64 `json:"lost"`
	Draining  uint64 `json:"draining"`
	Passed    uint64 `json:"passed_over"` // of the connected ones: those that get no new work
	Slots     uint64 `json:"slots"`       // of connected runners
	Free      uint64 `json:"free"`        // of those: that may be given to an attempt
	Queued    uint64 `json:"queued"`      // attempts that wait for a slot
	Running   uint64 `json:"running"`
	Oldest    string `json:"oldest,omitempty"` // when the attempt was offered that is the next
	Waits     string `json:"waits,omitempty"`  // what that one waits for, in words
}

// PoolState is a pool with its runners, those that are over not long ago among them, and with the begin of its queue: at most 100 attempts, and of many
// runners as many as fit an answer. RunnersQuery has all.
type PoolState struct {
	PoolSummary
	Runners []RunnerState `json:"runners"`
	More    bool          `json:"more_runners,omitempty"` // there are more than fit
	Queue   []PoolWork    `json:"queue"`
	Asked   *PoolWork     `json:"asked,omitempty"` // the attempt that was asked for by its token
}

// RunnerState is a runner, by its session.
type RunnerState struct {
	ID        string          `json:"id"`
	Key       string          `json:"key"`
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
	Work      []PoolWork      `json:"work"`
	JoinedTS  string          `json:"joined_ts"`
	SeenTS    string          `json:"seen_ts"` // when the pool last recorded something of it
	DrainTS   string          `json:"drain_ts,omitempty"`
	ExpiredTS string          `json:"expired_ts,omitempty"`
	StopTS    string          `json:"stop_ts,omitempty"`
}

// PoolRunner is what a pool, or a shard of one, answers of a runner.
type PoolRunner struct {
	Shards int          `json:"shards,omitempty"` // that the pool has; 0: one
	Runner *RunnerState `json:"runner"`           // nil: it has no such runner
}

// MaxPlaces is how many tokens a query for places may have.
const MaxPlaces = 100

// PoolPlaces are the places of attempts in the queue of a pool.
type PoolPlaces struct {
	Queued uint64            `json:"queued"`
	Waits  string            `json:"waits,omitempty"` // what the next one waits for, in words
	Places map[string]uint64 `json:"places"`          // by the tokens of those that wait, from 1 on; without those that are too far behind
}

// PoolWork is an attempt that a pool has.
type PoolWork struct {
	Workflow string `json:"workflow"`
	Runnable string `json:"runnable"`
	Attempt  uint32 `json:"attempt"`
	Queue    string `json:"queue"`
	State    string `json:"state"`            // queued, starting or running
	Shard    string `json:"shard,omitempty"`  // of the pool that has it, as images/3; empty: the pool has one
	Place    uint64 `json:"place,omitempty"`  // in the queue of that shard, from 1 on
	Beyond   bool   `json:"beyond,omitempty"` // that one or a later one: the queue is too long to be looked at as a whole
	Since    string `json:"since"`            // when it was offered
	Stopping string `json:"stopping,omitempty"`

	// Of the attempt that was asked for, where it has a slot.
	Runner     string `json:"runner,omitempty"`
	Executor   string `json:"executor,omitempty"`
	Address    string `json:"address,omitempty"`
	Connection uint64 `json:"connection,omitempty"`
}

// OptionalStamp is a time in Unix ms as a text; 0: empty.
func OptionalStamp(ms int64) string {
	if ms == 0 {
		return ""
	}
	return Stamp(ms).String()
}
