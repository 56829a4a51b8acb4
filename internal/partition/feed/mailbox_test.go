package feed

import (
	"testing"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// An owner whose disk hangs takes nothing: what waits for it stays within a bound.
func TestQuestionsToAnOwnerThatHangsAreBounded(t *testing.T) {
	settings := loop.Settings{}.Complete()
	box := NewMailbox(nil, &settings)
	for range loop.QueryLimit + 10 {
		box.Query(&events.Query{})
	}
	var b loop.Batch
	if box.Take(&b); len(b.Queries) != loop.QueryLimit {
		t.Errorf("%d questions wait, the limit is %d", len(b.Queries), loop.QueryLimit)
	}
	if box.Query(&events.Query{}); len(box.batch.Queries) != 1 {
		t.Error("a question to an owner that goes on is dropped")
	}
}
