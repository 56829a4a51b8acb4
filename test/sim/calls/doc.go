// Package calls holds what callers were told against what workflows may tell:
// a sequential specification of commands and reads (spec.go), and the search for
// an order of a workflow's calls that it allows (porcupine). It is what the
// simulator and the tests of crash equivalence have in common; how calls are
// sent and recorded is theirs.
package calls
