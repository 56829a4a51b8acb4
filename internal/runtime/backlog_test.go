package runtime_test

import (
	"testing"

	"github.com/heddle-run/heddle/internal/runtime"
)

func TestEmptyBacklogHasNoOldest(t *testing.T) {
	var tally runtime.Tally
	if b := tally.Published(); b.Pending != 0 || b.Notified != 0 || b.OldestPendingSince != nil {
		t.Errorf("published %+v", b)
	}
}

func TestOldestIsOfWhatNobodyHas(t *testing.T) {
	var tally runtime.Tally
	tally.Add(1000, true)
	tally.Add(3000, false)
	tally.Add(2000, false)
	b := tally.Published()
	if b.Pending != 2 || b.Notified != 1 || b.OldestPendingSince == nil || *b.OldestPendingSince != "1970-01-01T00:00:02Z" {
		t.Errorf("published %+v", b)
	}
}
