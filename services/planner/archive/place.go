package archive

import "github.com/heddle-run/heddle/shared/events"

// Place is a place in a partition of the journal: the next record is at Offset or behind it, and is the one behind After,
// or, where First is not zero, that one. Where neither is known, it is the first one that the journal still has.
type Place struct {
	Offset int64
	After  events.Position
	First  events.Position
	// Gap, if it is not zero, is the position of the first record behind ones that the journal has lost before they were
	// taken: what the store had of a run before may be of another one than what is taken since.
	Gap events.Position
}

// Known reports whether the next record is known.
func (p Place) Known() bool { return p.Offset == 0 || !p.After.IsZero() || !p.First.IsZero() }
