package pool

import "github.com/heddle-run/heddle/internal/faults"

// flaw is one of the flaws. Code that has it asks on.
type flaw bool

// on reports whether the flaw is there: never in a program that is built without faults.
func (f flaw) on() bool { return faults.Built && bool(f) }

// flaws break what a pool promises one by one, so that its tests can show that they would notice. Only they set any.
type flaws struct {
	freedTwice    flaw // a slot is freed once more
	bothServed    flaw // an older socket of a runner is not closed
	begunAgain    flaw // a process that remembers nothing gets what the one before it had begun
	missedSkipped flaw // what a runner has missed is not sent when it comes back
	appliedTwice  flaw // events that have counted count again
	forgotten     flaw // nobody is told what a session had that is over
	overtaken     flaw // what comes when a slot is free goes before what waits
}
