// Package readiness derives from the runtime records of partitions, and the
// time, whether they are ready and why not. It is pure: the same records at the
// same time give the same snapshots.
//
// Readiness is never guessed: a partition without a record has no lease, and an
// owner that died is seen by its expired one.
package readiness
