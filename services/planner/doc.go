// Package planner decides what happens next to workflows. It is pure: given the
// state of a partition and one input, it says which events follow, and given an
// event, how the state changes.
//
//	turn.go      what a workflow is made of as of a record, and which type knows which rows
//	decide.go    input → events: one line per kind of input, one file per command
//	evolve.go    event → rows: one line per kind of event
//	flow.go      facts and dead branches travelling along the graph
//	kind.go      what a kind of component does: one line per kind, one file each
//	admit.go     which ready runnables are dispatched
//	outcome.go   what the ends of attempts come to
//	settle.go    what is true after every record: settled, idle, failed, drained
//	effects.go   record → task records, replies, status
//	query.go     state → answers
//
// The owners of rows have files of their names: scopes.go, joins.go, runnables.go,
// queue.go, facts.go, contexts.go, outputs.go.
//
// A decision emits its events one by one, and each changes the state at once,
// so what is decided next sees it. Replaying a record runs the same changes
// without the decisions; so replayed state equals live state (property 4).
package planner
