// Package workload draws random workflows with everything that is done to them,
// says what they must come to (an oracle that evaluates the graph topologically),
// holds journals and stores against it, and counts what of the closed sets has
// occurred. It is what the tests of crash equivalence and the simulator have in
// common: neither clusters, nor processes, nor clients are here.
package workload
