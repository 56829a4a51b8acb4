package store

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// IsFull reports whether an error is that of a disk without room.
func IsFull(err error) bool { return vfs.IsNoSpaceError(err) }

// ErrInUse is a database whose directory somebody else has locked, as another
// process does that works in it.
var ErrInUse = errors.New("the directory cannot be locked, another process may use it")

// OpenDB opens a database that has no write-ahead log, making it and its directory
// when there is none. p has its FS, and the directory's lock if the caller holds
// that. A disk without room, also one that fills meanwhile, is an error (IsFull);
// a directory that cannot be locked is ErrInUse.
func OpenDB(dir string, p *pebble.Options) (db *pebble.DB, err error) {
	if err := p.FS.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if p.Lock == nil {
		if p.Lock, err = pebble.LockDirectory(dir, p.FS); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInUse, err)
		}
		defer func() { err = errors.Join(err, p.Lock.Close()) }() // an open database holds it too
	}
	if err := probe(p.FS, dir); err != nil {
		return nil, err
	}
	if err := dropLogs(p.FS, dir); err != nil {
		return nil, err
	}
	return pebble.Open(dir, p)
}

// RoomFile is the name of the file that is written, and removed, to find out whether
// there is room. Nobody reads it.
const RoomFile = "temporary.room"

// rooms are what is written to it, used again. A file may change what it is given to
// write, as Pebble's in-memory one does under the race detector, so nobody shares one.
var rooms = sync.Pool{New: func() any { return new([1 << 20]byte) }}

// probe finds out whether there is room for anything: a database that is opened
// without would soon be given up, and is worth more than that.
func probe(fs vfs.FS, dir string) error {
	name := fs.PathJoin(dir, RoomFile)
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	room := rooms.Get().(*[1 << 20]byte)
	_, err = f.Write(room[:])
	rooms.Put(room)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if gone := fs.Remove(name); !errors.Is(gone, iofs.ErrNotExist) { // another process may try the same
		err = errors.Join(err, gone)
	}
	return err
}

// TryDisk finds out whether there is room beside the store of these options.
func TryDisk(o Options) error {
	fs := o.fs()
	dir := fs.PathDir(o.Dir)
	if dir != "." {
		if err := fs.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return probe(fs, dir)
}

// TryLock reports whether the store of these options can be opened: ErrInUse says
// that somebody else works in its directory. It must not be open in this process.
func TryLock(o Options) error {
	fs := o.fs()
	if _, err := fs.Stat(o.Dir); err != nil {
		return nil // it is yet to be made
	}
	lock, err := pebble.LockDirectory(o.Dir, fs)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInUse, err)
	}
	return lock.Close()
}

// dropLogs removes the write-ahead logs, which Pebble also makes, and leaves empty,
// when it is to write none. Did Pebble find one as it opens, it would flush what
// the log has and write its MANIFEST; if that fails, it tries again at once, for
// ever. Without one it writes nothing as it opens but what may fail.
func dropLogs(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if ofPebble(name) && strings.HasSuffix(name, ".log") {
			err = errors.Join(err, fs.Remove(fs.PathJoin(dir, name)))
		}
	}
	return err
}
