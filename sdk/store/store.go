// Package store is where histories are kept outside Kafka: logs by ID, each with a
// snapshot and labels to list it by. Store is the interface; adapters in the packages
// below keep the logs in memory, Pebble, SQLite and PostgreSQL, and a program may bring
// an adapter of its own (Register), which package storetest holds against this contract.
// docs/stores.md is the guide.
//
// # The model
//
// Under each ID there is a log: entries, which are bytes, at the positions 0, 1, 2 and so on; the highest
// epoch of all who have written it; and at most one snapshot. An ID of which nothing is known has an empty
// log of the epoch 0 and no snapshot; it begins to exist with the first write that succeeds, also with an
// append of no entries, and ends with Delete.
//
// # What each adapter promises
//
// A write is Append, SaveSnapshot or Delete. It happens wholly or not at all, whatever kills the process or cuts
// the connection, and before it returns nil it is as durable as the adapter says: against the loss of power for
// those that write to disks, if the disk keeps what it says it has synced.
//
// All operations on one ID are linearizable: each has its effect at one moment between call and return, so a
// Load behind an acknowledged Append has its entries.
//
// A write that fails with *Fenced, *Conflict or ErrInvalid has changed nothing. Any other error of a write, one of its
// context included, leaves open whether it has happened. Who has to know appends no entries under a higher
// epoch, by which the lost write is fenced if it has not happened yet, and loads.
//
// A call whose context has ended before it does nothing and returns the context's error. Where a call fails as its context
// ends, that error is in the chain.
//
// Methods may be called by several goroutines. Whether several processes may have the same data open the adapter says.
//
// Slices and maps that are given are only read, and only until the call returns; those that are returned are the caller's.
package store

import (
	"context"
	"io"
)

// Store keeps logs by ID. See the package's documentation for what holds for all of its methods.
type Store interface {
	// Append writes entries behind the at entries that the log has. It fails
	// with *Fenced if the store has seen a higher epoch for the ID, and else with
	// *Conflict if the log has not exactly at entries. From then on writes of lower epochs are fenced.
	// An append of no entries writes the epoch alone: so a new writer makes sure of its predecessor's end.
	Append(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error

	// Load returns entries from a position on, in order, as they were at one moment:
	// as many as the adapter finds fit to hold in memory (a few megabytes, or one entry that is larger), at least
	// one if there is one. Log.End says whether there are more. A position at or behind the end gives no entries.
	Load(ctx context.Context, id string, from uint64) (Log, error)

	// SaveSnapshot replaces the snapshot of a log. It fails with *Fenced as Append does, and else
	// with *Conflict if the snapshot covers more entries than the log has, or fewer than the one that
	// is there. From then on writes of lower epochs are fenced.
	SaveSnapshot(ctx context.Context, id string, epoch uint64, s Snapshot) error

	// LoadSnapshot returns the snapshot of a log; ok says whether it has one.
	LoadSnapshot(ctx context.Context, id string) (s Snapshot, ok bool, err error)

	// List returns the logs that fit a filter, in the order of the bytes of their IDs, from a cursor on:
	// "" at first, then Page.Next. A page is true of one moment, several are not, but what exists and fits from
	// the first page to the last is in exactly one. A page may be short, even empty, and not be the last.
	List(ctx context.Context, f Filter, cursor string) (Page, error)

	// Exists says whether the ID has a log, an empty one included.
	Exists(ctx context.Context, id string) (bool, error)

	// Delete forgets all of an ID, its epoch too: a writer that thinks it new may begin it again. It
	// fails with *Fenced as Append does; MaxNumber is an epoch that nothing fences. What is not there is
	// deleted already, which is no error.
	Delete(ctx context.Context, id string, epoch uint64) error
}

// Opened is a store that whoever has opened it closes. Close waits for the calls in
// flight; calls behind it fail with ErrClosed, and a second Close does nothing.
type Opened interface {
	Store
	io.Closer
}

// Log is a part of a log, with what is true of the whole at the same moment.
type Log struct {
	From    uint64   // position of the first of Entries
	Entries [][]byte // none is nil
	End     uint64   // entries in the whole log: the position of the next
	Epoch   uint64   // the highest that has written
}

// Snapshot is what the first entries of a log come to, in its writer's own form, with
// labels by which the log is listed.
type Snapshot struct {
	At     uint64 // how many entries it covers
	Labels map[string]string
	Data   []byte
}

// Filter says which logs are listed: those that fit all of it.
type Filter struct {
	Prefix string            // what the ID begins with
	Labels map[string]string // labels that the snapshot has, with exactly these values
	Limit  int               // of a page; 0: DefaultLimit
}

// Page is a part of a list.
type Page struct {
	Items []Item
	Next  string // the cursor of the next page; "": this is the last
}

// Item is a log as lists have it.
type Item struct {
	ID         string
	End        uint64 // entries in the log
	Epoch      uint64
	Snapshot   bool              // there is one
	SnapshotAt uint64            // how many entries it covers
	Labels     map[string]string // of the snapshot; nil if it has none
}
