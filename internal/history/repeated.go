package history

import (
	"math/bits"

	"github.com/heddle-run/heddle/shared/events"
)

// listedWithoutEffect is how many inputs without effect a history lists one by one.
// Behind them it lists each whose number is a power of two, and the last: however
// many a client sends, the history grows by a few lines.
const listedWithoutEffect = 8

// withoutEffect reports whether an event is all that came of an input which changed
// nothing. Its record has to be there, and answers repetitions of the command;
// a person needs to read some of them.
func withoutEffect(e events.Event) bool {
	switch e.(type) {
	case *events.CommandRefused, *events.CommandIgnored, *events.InputRejected:
		return true
	}
	return false
}

// listed reports whether an event is one of those that are shown wherever a reader stands.
func (i *Item) listed() bool {
	n := i.Cursor.WithoutEffect
	return !withoutEffect(i.Event) || n <= listedWithoutEffect || bits.OnesCount64(n) == 1
}
