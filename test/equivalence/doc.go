// Package equivalence holds the proof of crash equivalence: random workflows on
// the real planner service, takers and clients, over the embedded broker in one
// bubble of virtual time, with processes that are killed anywhere. What comes
// out must be what an oracle computes and what the undisturbed run gave; the
// journal must hold every acknowledged command once and every end of a runnable
// once; and folding the journal must give the rows of the live store, byte by
// byte. What the client was told must be linearizable, and over enough seeds all
// must have occurred that the workload can bring about (coverage_test.go).
//
// A failing seed is printed; go test ./test/equivalence -seed N runs it again,
// -seeds N (or HEDDLE_SEEDS) sets how many seeds run. A seed decides what is
// done to the processes, not how the goroutines of the bubble interleave: a
// rare failure may need its seed a few times (-count).
package equivalence
