package sim

import (
	"fmt"
	"testing"
)

// Operators release, mark, read again and write down partitions while these are taken over, recover, or have no owner:
// nothing is lost by it, or done twice. A third of all seeds have these words among everything else; here little else happens.
func TestOperatorsAtBadMomentsChangeNothing(t *testing.T) {
	first, n := fewer(fewer(someSeeds()))
	for what, options := range map[string]func(uint64) Options{"model": options, "broker": onBroker} {
		for seed := first; seed < first+n; seed++ {
			t.Run(fmt.Sprint(what, "/", seed), func(t *testing.T) {
				t.Parallel()
				o := options(seed)
				o.Kinds = []string{words, "move", "kill", "coup", "freeze"}
				if r := Run(o); r.Err != nil {
					t.Errorf("seed %d after %d steps, %v: %v\nfaults: %v", seed, r.Steps, r.Took, r.Err, r.Faults)
				}
			})
		}
	}
}
