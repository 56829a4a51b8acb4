// Package archiver keeps runs outside Kafka: it follows the journal as a member of the archivers' group, writes to a store
// what package archive says, tells planners of the runs that it has, and commits how far it is. What it commits, and
// nothing else, may be trimmed off the journal.
//
// Each partition has a goroutine of its own, which takes a new epoch in the store when it begins, and begins anew
// whenever something has failed: what it reads twice is where it was, as entries of a run have their positions.
package archiver
