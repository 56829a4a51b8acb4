// Package authority is the lease of a planner partition: who may release its
// effects, until when, and which operations change that (document 7). At most
// one owner holds a partition at a time.
//
// The package is pure. Operations are refused with typed errors and write
// nothing then; what they change comes back as the journal events that fold the
// lease, except a renewal, which is published but not journaled.
package authority
