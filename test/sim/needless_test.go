package sim

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// What an owner need not have read yet when it sends a task again is no fault of its: what was reported since it took the
// partition over, or since it looked where the workers are.
func TestATaskIsRepeatedNeedlesslyIfItsResultWasThereToRead(t *testing.T) {
	for _, c := range []struct {
		steps  string // c: a planner takes the partition over; o: another one does; s: who has it sends the task; f: that fails, as far as it knows; l: it looks; r: the result is in the inbox
		lawful bool
	}{
		{steps: "csls", lawful: true},
		{steps: "csrs", lawful: true}, // by what it did not look for, nobody says
		{steps: "cslrs", lawful: true},
		{steps: "csrls"},
		{steps: "osrcs"},
		{steps: "oscrs", lawful: true},
		{steps: "oscrls", lawful: true}, // it has waited since the takeover: the look was for others
		{steps: "cscrls", lawful: true}, // so it has if the same process had the partition before
		{steps: "csrcs"},
		{steps: "cslrls", lawful: true}, // it has waited since the first look: the second one was for others
		{steps: "clsrls"},
		{steps: "csrfls", lawful: true}, // it does not know that it was sent
		{steps: "osrfcs"},
	} {
		err := complaints(func(w *world) { repeat(w, c.steps) })
		if (err == nil) != c.lawful {
			t.Errorf("%s: want lawful %v: %v", c.steps, c.lawful, err)
		}
	}
}

// repeat plays steps for the audit of what is sent again.
func repeat(w *world, steps string) {
	ctx := as(context.Background(), partitionName(0))
	one, other := &node{w: w, c: w.c, name: "n0.1", owner: "one"}, &node{w: w, c: w.c, name: "n1.2", owner: "other"}
	n, became := one, func(error) {}
	for i, step := range steps {
		switch step {
		case 'c', 'o':
			if n = one; step == 'o' {
				n = other
			}
			w.noteReport(journal.Encode(&events.Record{
				Position: events.Position{Epoch: uint64(i + 1), Seq: 1}, Workflow: events.PartitionWorkflow(0), Events: []events.Event{&events.AuthorityAcquired{Owner: n.owner}},
			}, w.c.names, 0), 0)
		case 's':
			became = (&leash{n: n}).checkRepeat(ctx, &kgo.Record{Topic: w.c.names.Tasks("orders"), Key: []byte("w"), Value: wire.Marshal(&events.Task{Token: []byte("token")})})
		case 'f':
			became(errors.New("no answer"))
		case 'l':
			w.noteLook(ctx, n, w.c.names.QueueGroup("orders"))
		case 'r':
			p := w.audit.partition("w")
			w.noteReport(&kgo.Record{Topic: w.c.names.Inbox(), Key: []byte("w"), Value: events.EncodeInbox(&events.TaskOutcome{Token: []byte("token"), Outcome: events.OutcomeCompleted})}, p)
		}
	}
}
