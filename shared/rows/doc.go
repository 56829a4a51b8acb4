// Package rows is the shape of a partition's state: small typed rows under
// ordered keys, read through a Source and changed through a Tx.
//
// A row is immutable once its Tx is committed: code that holds it may go on
// reading it, and a change makes a copy. So the state as of any journal record
// stays readable until that record is written to the store, without locks and
// without encoding a row more than once.
//
// The package is pure. Memory is a Source for tests, models and simulation;
// the partition log has one over Pebble.
package rows
