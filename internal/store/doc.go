// Package store keeps the rows of one planner partition: a Pebble database that
// can always be made again (from the state changelog and the journal), and a
// cache of decoded rows in front of it.
//
// There is no write-ahead log and no fsync per batch. What a crash leaves is
// the state after some earlier Commit, whole: batches are written in order and
// each becomes durable as one. The mark of the last applied record is part of
// every batch, so a reopened store says itself from where the journal has to be
// read again.
//
// What is in the store but not yet in the changelog is dirty. The dirty log, a
// table of the store, keeps the keys of every batch until a checkpoint that
// covers them is known to be committed. After a reopening it may name more
// than is dirty, never less.
//
// A Store belongs to one goroutine. Snapshot.Each, Metrics and DiskBytes may be
// called from any.
package store
