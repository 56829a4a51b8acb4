package events

import "encoding/json"

// PoolList is a page of the pools that have runners, or work.
type PoolList struct {
	Items []PoolSummary `json:"items"`
	Next  string        `json:"next,omitempty"` // cursor of the next page; empty: there is none
}

// PoolSummary is how much of a pool is used.
type PoolSummary struct {
	Name      string `json:"name"`
	Connected uint64 `json:"connected"` // runners, in each of their states
	Lost      uint64 `json:"lost"`
	Draining  uint64 `json:"draining"`
	Slots     uint64 `json:"slots"`  // of connected runners
	Free      uint64 `json:"free"`   // of those
	Queued    uint64 `json:"queued"` // attempts that wait for a slot
	Running   uint64 `json:"running"`
	Oldest    string `json:"oldest,omitempty"` // when the attempt was offered that is the next
	Waits     string `json:"waits,omitempty"`  // what that one waits for, in words
}

// PoolState is a pool with its runners, the newest of those that are over among them, and with the begin of its queue.
type PoolState struct {
	PoolSummary
	Runners []RunnerState `json:"runners"`
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

// PoolWork is an attempt that a pool has.
type PoolWork struct {
	Workflow string `json:"workflow"`
	Runnable string `json:"runnable"`
	Attempt  uint32 `json:"attempt"`
	Queue    string `json:"queue"`
	State    string `json:"state"`           // queued, starting or running
	Place    uint64 `json:"place,omitempty"` // in the queue, from 1 on
	Since    string `json:"since"`           // when it was offered
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
