// Package archive says what of a journal is kept in a store outside Kafka, and what a stored run comes to. A Keeper
// takes the records of one partition in order and says which runs are to be written; Fold makes of a run's entries what
// a planner had of it, so that it answers what a planner answers.
//
// In the store a run is a log under RunID: its records in their order, each an entry (Encode). The log's snapshot says
// in short what they come to (Snapshot), with labels to find it by. Beside the runs there are the definitions
// (DefinitionID) and how far each partition of a journal is kept (PlaceID).
//
// The package is pure.
package archive
