package pool

import "github.com/heddle-run/heddle/internal/faults"

// Flaw is one of the Flaws. Code that has it asks on.
type Flaw bool

// on reports whether the flaw is there: never in a program that is built without faults.
func (f Flaw) on() bool { return faults.Built && bool(f) }

// Flaws break what a pool promises one by one, so that its tests and the simulation of clusters can show that they would
// notice. Only they set any (TestFlawsAreOfTestsOnly).
type Flaws struct {
	FreedTwice    Flaw // a slot is freed once more
	BothServed    Flaw // an older socket of a runner is not closed
	BegunAgain    Flaw // a process that remembers nothing gets what the one before it had begun
	MissedSkipped Flaw // what a runner has missed is not sent when it comes back
	AppliedTwice  Flaw // events that have counted count again
	Forgotten     Flaw // nobody is told what a session had that is over
	Overtaken     Flaw // what comes when a slot is free goes before what waits
}

// Flawed makes a machine of pools with flaws.
func Flawed(s Settings, f Flaws) *Machine { return &Machine{settings: s.Complete(), flaws: f} }
