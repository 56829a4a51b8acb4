package view

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

// openStore opens Pebble; an empty dir means in memory. What cannot be opened is
// removed and made again, but neither what another process uses nor for want of
// room.
func (v *View) openStore() error {
	fs := v.fs
	switch {
	case v.dir == "":
		fs = vfs.NewMem()
	case fs == nil:
		fs = vfs.Default
	}
	if err := fs.MkdirAll(v.dir, 0o755); err != nil {
		return err
	}
	lock, err := pebble.LockDirectory(v.dir, fs)
	if err != nil {
		return fmt.Errorf("lock %s: %w", v.dir, err)
	}
	if err := v.openLocked(fs, lock); err != nil {
		return errors.Join(err, lock.Close())
	}
	v.lock = lock
	return nil
}

func (v *View) openLocked(fs vfs.FS, lock *pebble.Lock) error {
	if v.spoilt == nil {
		err := v.openPebble(fs, lock)
		if err == nil || store.IsFull(err) {
			return err
		}
		v.logger.Error("the list's view cannot be opened and is made again", "dir", v.dir, "error", err)
		v.spoilt = err
	}
	if err := store.Clear(fs, v.dir); err != nil {
		return errors.Join(v.spoilt, err)
	}
	v.spoilt = nil
	return v.openPebble(fs, lock)
}

func (v *View) openPebble(fs vfs.FS, lock *pebble.Lock) error {
	o := &pebble.Options{
		DisableWAL:            true, // rebuildable: the topic is the log
		FormatMajorVersion:    pebble.FormatTableFormatV6,
		MemTableSize:          viewMemTable,
		L0CompactionThreshold: 8, // of most workflows nothing is read but filters
		FS:                    fs,
		Lock:                  lock,
	}
	store.TuneLevels(o) // most workflows that are looked up are new
	shared := store.NewShared(viewCache)
	defer shared.Close() // an open store keeps it alive
	health := store.Watch(o, v.logger, shared, nil)
	db, err := store.OpenDB(v.dir, o)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.db, v.health, v.recent = db, health, recent{}
	return nil
}

// closeStore writes what is in memory, unless the store is broken: Pebble would
// wait for room on the disk for ever.
func (v *View) closeStore() error {
	if v.db == nil {
		return nil
	}
	return errors.Join(v.health.Flush(v.db), v.shut())
}

// shut closes the store as it is.
func (v *View) shut() error {
	err := errors.Join(v.db.Close(), v.lock.Close())
	v.db = nil
	return err
}
