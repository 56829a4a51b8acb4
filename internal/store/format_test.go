package store

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// A store says which version its rows have; one of a later version is left as it is.
func TestAStoreOfALaterFormatIsNotOpened(t *testing.T) {
	o := Options{Dir: "p0", FS: vfs.NewMem()}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	var f format
	if known, err := s.Get(formatKey, &f); err != nil || !known || f.Version != events.Version {
		t.Errorf("a new store says %+v, %v", f, err)
	}
	b := s.db.NewBatch()
	if err := errors.Join(s.put(b, formatKey, &format{events.Version + 1}), s.apply(b, "writing"), b.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err = Open(o)
		var later *wire.FormatError
		if err == nil {
			_ = s.Close()
		}
		if !errors.As(err, &later) || later.Has != events.Version+1 {
			t.Fatalf("opened with %v", err)
		}
	}
}
