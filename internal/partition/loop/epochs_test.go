package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/machine"
)

// However many logs take nothing, what is published of them stays small.
func TestNotesOfWhatWaitsAreBounded(t *testing.T) {
	for _, logs := range []int{mostNotes - 1, mostNotes, mostNotes + 1, 5 * mostNotes} {
		m := newModel(t, Settings{})
		for i := range logs {
			o := &Outgoing{Kind: machine.TaskEffect, Key: fmt.Sprint("w", i), Queue: fmt.Sprint("q", i)}
			m.p.parked.park(o, Destination{Topic: fmt.Sprintf("tasks.q%03d", i), Partition: -1}, nil)
		}
		notes := m.p.Waiting()
		if logs <= mostNotes {
			if len(notes) != logs {
				t.Errorf("%d notes of %d logs", len(notes), logs)
			}
			continue
		}
		more := logs - mostNotes
		if len(notes) != mostNotes+1 || !strings.Contains(notes[mostNotes], fmt.Sprintf("%d effects wait for %d more logs", more, more)) {
			t.Errorf("%d notes of %d logs, the last is %q", len(notes), logs, notes[len(notes)-1])
		}
	}
}
