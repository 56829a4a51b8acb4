package archive

import (
	"reflect"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// What an entry says is what was taken, whether its record is at hand or too many came since; and how much is at hand is bounded.
func TestRecordsAreAtHandForAWhile(t *testing.T) {
	k := NewKeeper(Settings{}, Place{})
	var taken []*events.Record
	for i := range mostRecent + 2 {
		rec := &events.Record{
			Position: events.Position{Epoch: 1, Seq: uint64(i + 2)}, Workflow: "w", Time: 1,
			Events: []events.Event{&events.InputAccepted{Fact: events.FactID(i), Value: []byte("1")}},
		}
		taken = append(taken, rec)
		k.Take(int64(i), rec, events.EncodeRecord(rec))
	}
	l := k.runs["w"]
	for i, want := range taken {
		rec, err := l.Pending[i].Record()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(rec, want) {
			t.Fatalf("record %d is %+v, want %+v", i, rec, want)
		}
		if held := rec == want; held != (i >= 2) {
			t.Fatalf("record %d of %d is held: %v", i, len(taken), held)
		}
	}
	big := &events.Record{Position: events.Position{Epoch: 2, Seq: 1}, Workflow: "x", Events: []events.Event{&events.InputAccepted{Value: make([]byte, mostRecentBytes)}}}
	k.Take(1<<20, big, events.EncodeRecord(big))
	if len(k.recents) != 0 || k.recentBytes != 0 {
		t.Fatalf("%d records of %d bytes are at hand behind one of %d", len(k.recents), k.recentBytes, mostRecentBytes)
	}
}
