// Package history is what the gateway and the Kafka client share of reading
// workflows: their history out of the journal, past and live, and their graphs.
//
// History is read by the one rule of all journal readers: a run begins at
// the record that the planner names as its start, and from there on a record
// counts only if the void rule says so.
package history
