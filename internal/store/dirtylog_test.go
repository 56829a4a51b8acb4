package store

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/shared/rows"
)

// What a checkpoint has taken and not written yet is dirty for the next owner that opens the store
// next, although a part of the checkpoint is written and its own part of the dirty
// log is old (C2).
func TestWhatAPartOfACheckpointHasNotWrittenStaysDirtyOnTheDisk(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open(Options{Dir: "p0", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	const workflows, each = 40, 300
	for i := range workflows {
		changes := make([]Change, 0, each)
		for a := range each {
			changes = append(changes, Change{Key: rows.Key{Table: rows.Fact, Workflow: fmt.Sprintf("w%02d", i), A: uint64(a)}, Row: &text{"x"}})
		}
		if err := s.Commit(mark(uint64(i+1)), changes); err != nil {
			t.Fatal(err)
		}
	}
	sn := s.Due(func(string, Dirty) bool { return true })
	if err := sn.Wrote(1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // the process ends here; what it wrote is on the disk
		t.Fatal(err)
	}
	if s, err = Open(Options{Dir: "p0", FS: fs}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if owners, _ := s.Dirty(); owners != workflows-1 {
		t.Fatalf("%d workflows are dirty, of %d that the changelog does not have", owners, workflows-1)
	}
}
