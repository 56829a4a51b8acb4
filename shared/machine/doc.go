// Package machine is the seam between the partition log (internal/partition)
// and the domain (services/planner): what the log hands over for a decision,
// and what it gets back. Everything here is a value; neither side does I/O
// through it.
package machine
