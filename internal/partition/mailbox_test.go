package partition

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// An owner whose disk hangs takes nothing: what waits for it stays within a bound.
func TestQuestionsToAnOwnerThatHangsAreBounded(t *testing.T) {
	settings := Settings{}.Complete()
	box := newMailbox(nil, &settings)
	for range queryLimit + 10 {
		box.query(&events.Query{})
	}
	var b Batch
	if box.take(&b); len(b.Queries) != queryLimit {
		t.Errorf("%d questions wait, the limit is %d", len(b.Queries), queryLimit)
	}
	if box.query(&events.Query{}); len(box.batch.Queries) != 1 {
		t.Error("a question to an owner that goes on is dropped")
	}
}
