package gateway

import (
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
	store.LogTo(o, v.logger)
	if dir == "" {
		o.FS = vfs.NewMem()
	}
	var err error
	v.db, err = pebble.Open(dir, o)
	return err
}
