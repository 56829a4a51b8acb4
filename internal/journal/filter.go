package journal

import "github.com/heddle-run/heddle/shared/events"

// Filter is the void rule as a state machine over the headers of the
// records of one journal partition, in offset order. The zero Filter stands
// before the first record of the journal. It is a value; copies are independent.
type Filter struct {
	last   events.Position // of the last lawful record
	expect events.Position // not zero: nothing is lawful before this record is
}

// After is the filter behind a lawful record.
func After(last events.Position) Filter { return Filter{last: last} }

// At is the filter somewhere before a record that is known to be lawful: what
// comes before it is passed over. No two records of one position are lawful,
// and the first of them is the lawful one.
func At(first events.Position) Filter { return Filter{expect: first} }

// Last is the position of the last lawful record seen or started behind.
func (f *Filter) Last() events.Position { return f.last }

// Lawful reports whether the record counts, and moves on if it does. replaces is
// the epoch that a takeover record replaces, and nil for every other record.
//
// A takeover is lawful only if the epoch it replaces is the current one, its own
// epoch is later, and its seq is 1; the journal's first record replaces epoch 0. The
// own epoch of a takeover is the one after, but where a loss of the journal was
// accepted: there it is above all that were ever known. Any other record is lawful
// only if its epoch is the current one and its seq the last + 1. Everything else is
// void.
func (f *Filter) Lawful(epoch, seq uint64, replaces *uint64) bool {
	at := events.Position{Epoch: epoch, Seq: seq}
	if !f.expect.IsZero() {
		if at != f.expect || (replaces != nil) != (seq == 1) {
			return false
		}
		f.last, f.expect = at, events.Position{}
		return true
	}
	if replaces != nil {
		if *replaces != f.last.Epoch || epoch <= f.last.Epoch || seq != 1 {
			return false
		}
	} else if epoch != f.last.Epoch || epoch == 0 || seq != f.last.Seq+1 {
		return false // a hole, or an owner of before (J1)
	}
	f.last = at
	return true
}
