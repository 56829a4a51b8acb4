package gateway

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/internal/store"
)

const (
	viewMemTable = 8 << 20

	// viewCache is for blocks and filters, and for the two memtables that there
	// are while one is flushed: Pebble takes them out of it.
	viewCache = 8<<20 + 2*viewMemTable
)

// openStore opens Pebble; an empty dir means in memory.
func (v *view) openStore(dir string) error {
	o := &pebble.Options{
		DisableWAL:            true, // rebuildable: the topic is the log
		FormatMajorVersion:    pebble.FormatTableFormatV6,
		MemTableSize:          viewMemTable,
		CacheSize:             viewCache,
		L0CompactionThreshold: 8, // of most workflows nothing is read but filters
		FS:                    v.fs,
	}
	store.TuneLevels(o) // most workflows that are looked up are new
	v.broken = make(chan struct{})
	store.LogTo(o, v.logger, v.broke)
	if dir == "" {
		o.FS = vfs.NewMem()
	}
	var err error
	v.db, err = pebble.Open(dir, o)
	return err
}

// broke is told that the disk did not take what the store must write: it is of
// no use any more, but one that is opened anew goes on where it left off.
func (v *view) broke(err error) {
	v.breaking.Do(func() {
		v.why = fmt.Errorf("the view cannot be written: %w", err)
		close(v.broken)
	})
}

// closeStore writes what is in memory, unless the store is broken: Pebble would
// wait for room on the disk for ever.
func (v *view) closeStore() error {
	flushed, err := v.db.AsyncFlush()
	if err == nil {
		select {
		case <-flushed:
		case <-v.broken:
			err = v.why
		}
	}
	return errors.Join(err, v.db.Close())
}
