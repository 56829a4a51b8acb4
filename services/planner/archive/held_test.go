package archive

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// What the store has already is taken away of a run's entries before it is said to be written: the Keeper holds nothing of it
// afterwards, and goes on.
func TestEntriesThatWereThereAreNotHeld(t *testing.T) {
	k := &script{Keeper: NewKeeper(Settings{}, Place{})}
	k.line(t, []string{"a", "start"})
	k.line(t, []string{"b", "complete"})
	due := k.Due(k.now)
	if len(due) != 1 || due[0].Workflow != "b" {
		t.Fatalf("%d runs are due, want b", len(due))
	}
	due[0].Pending = nil
	k.Written(due[0], 2)
	k.line(t, []string{"a", "complete"})
	for _, l := range k.Due(k.now) {
		k.Written(l, 2)
	}
	want := Place{Offset: k.offset + 1, After: events.Position{Epoch: 1, Seq: 3}}
	if runs, bytes := k.Pending(); runs != 0 || bytes != 0 || k.Place() != want {
		t.Fatalf("%d bytes of %d runs are held, and the place is %+v, want nothing and %+v", bytes, runs, k.Place(), want)
	}
}

// What is remembered of how a run was started shares no memory with its first record.
func TestTheFirstRecordIsNotHeld(t *testing.T) {
	b := events.EncodeRecord(&events.Record{
		Position: events.Position{Epoch: 1, Seq: 1}, Workflow: "w",
		Events: []events.Event{&events.WorkflowStarted{Digest: "d", Name: "n", Version: "2", Labels: []byte(`{"a":"b"}`), Context: []byte(`"long"`)}},
	})
	rec, err := events.DecodeRecord(b)
	if err != nil {
		t.Fatal(err)
	}
	k := NewKeeper(Settings{}, Place{})
	k.Take(1, rec, b)
	clear(b)
	sum := k.runs["w"].Known(0)
	want := events.DefinitionRef{Name: "n", Version: "2", Digest: "d"}
	if string(sum.Labels) != `{"a":"b"}` || sum.Definition != want {
		t.Fatalf("the run is remembered with %q and %+v", sum.Labels, sum.Definition)
	}
}
