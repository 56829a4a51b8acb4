// Package runtime is the runtime record of a planner partition: its lease, what waits
// and what is under way, how far it is behind its logs, its last checkpoint, and what
// readiness makes of all that. The record is JSON on the topics authority and readiness;
// its field names are a public contract, and what is not there is null, never left out.
//
// The owner of a partition publishes a Record with every checkpoint (topic
// authority, key = partition number in decimal). The readiness service derives
// a Snapshot from it and the clock (topic readiness, same key; key "all" has
// the Aggregate).
//
// A Lease says who may release a partition's effects, until when, and which operations
// change that. At most one owner holds a partition at a time. Operations are refused
// with typed errors and write nothing then; what they change comes back as the journal
// events that fold the lease, except a renewal, which is published but not journaled.
//
// The package is pure.
package runtime
