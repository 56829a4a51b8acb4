// Package equivalence holds the proof of crash equivalence: random workflows on
// the real planner service, workers and clients, over the embedded broker in one
// bubble of virtual time, with processes that are killed anywhere. What comes
// out must be what an oracle computes and what the undisturbed run gave; the
// journal must hold every acknowledged command once and every end of a runnable
// once; and folding the journal must give the rows of the live store, byte by
// byte. What the client was told must be linearizable, and over enough seeds all
// must have occurred that the workload can bring about (coverage_test.go).
//
// Beside kills, disks come back damaged, older, or full for a while
// (disks_test.go); input logs begin later than they were read to, and what that
// takes must be told and nothing else (losses_test.go); records that nobody
// understands, in the wrong place, and of the largest size stand between the
// others, and the dlq must have exactly those (strangers_test.go); requests and
// answers are lost or late (weather_test.go); the clocks of planners jump, ahead
// and back, within what the lease allows and beyond it (clocks_test.go). What
// faults have done is counted, and has to occur over the seeds. Clocks of workers,
// of clients and of the broker are the bubble's.
//
// A failing seed is printed; go test ./test/equivalence -seed N runs it again
// (untagged_test.go), -seeds N (or HEDDLE_SEEDS) sets how many seeds run. A seed decides what is
// done to the processes, not how the goroutines of the bubble interleave: a
// rare failure may need its seed a few times (-count).
package equivalence
