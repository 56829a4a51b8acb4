// Package snapshot is the runtime record of a planner partition, as it stands in
// JSON on the topics authority and readiness: types only. The field names are a
// public contract; what is not there is null, never left out.
//
// The owner of a partition publishes a Record with every checkpoint (topic
// authority, key = partition number in decimal). The readiness service derives
// a Snapshot from it and the clock (topic readiness, same key; key "all" has
// the Aggregate).
package snapshot
