package disk_test

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/test/sim/disk"
)

// A crash within a write leaves all that was synced, and over the seeds nothing,
// a part, and all of what was not; other directories lose nothing.
func TestACrashWithinAWriteLeavesAPart(t *testing.T) {
	const blocks = 5
	size, drawn := map[int]bool{}, map[bool]bool{}
	for seed := range uint64(200) {
		first := torn(t, seed, blocks)
		if again := torn(t, seed, blocks); first.old != again.old || first.young != again.young {
			t.Fatalf("seed %d leaves two states", seed)
		}
		if !bytes.HasPrefix([]byte(first.old), []byte("synced")) || first.other != "whole" {
			t.Errorf("seed %d leaves %.9q, elsewhere %q", seed, first.old, first.other)
		}
		for i, b := range []byte(first.old[len("synced"):]) {
			if want := byte('a' + i/4096); b != 0 && b != want {
				t.Fatalf("seed %d leaves %q at %d, want %q", seed, b, i, want)
			}
		}
		size[len(first.old)] = true
		drawn[first.young != ""] = true
	}
	if len(size) != blocks+1 || len(drawn) != 2 {
		t.Errorf("files are left with sizes %v, and new ones %v", size, drawn)
	}
}

type remains struct{ old, young, other string }

// torn is what is left of files below a crash, and of one elsewhere.
func torn(t *testing.T, seed uint64, blocks int) remains {
	t.Helper()
	d := disk.New()
	write(t, d, "other/a", "whole")
	write(t, d, "dir/old", "synced")
	d.CrashWithin("dir", 1, seed)
	if d.Crashed() {
		t.Fatal("it crashes at once")
	}
	old, err := d.OpenReadWrite("dir/old", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	for i := range blocks {
		if _, err := old.WriteAt(bytes.Repeat([]byte{byte('a' + i)}, 4096), int64(len("synced")+i*4096)); err != nil {
			t.Fatal(err)
		}
	}
	young, err := d.Create("dir/young", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := young.Write([]byte("young")); err != nil {
		t.Fatal(err)
	}
	write(t, d, "other/b", "not waited for")
	if err := young.Sync(); err != nil || d.Crashed() {
		t.Fatalf("one sync is let pass: %v, %v", err, d.Crashed())
	}
	if err := old.Sync(); err != nil || !d.Crashed() {
		t.Fatalf("the second one does not: %v, %v", err, d.Crashed())
	}
	left, err := d.Torn()
	if err != nil {
		t.Fatal(err)
	}
	r := remains{old: read(t, left, "dir/old"), other: read(t, left, "other/a")}
	if _, err := left.Stat("dir/young"); err == nil {
		r.young = read(t, left, "dir/young")
	}
	return r
}
