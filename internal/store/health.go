package store

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Health reports whether a database that can be made again is still of use. It is
// told of bytes that are not what was written, and of what the disk does not
// take: Pebble would end the process, or try it again at once and for ever.
// Safe for concurrent use.
type Health struct {
	rotten atomic.Bool
	gone   chan struct{} // closed when it became so
	why    error         // valid once gone is closed
	told   func(error)
}

// Watch makes the Health of the database that is opened with p: it sets p's log,
// its caches, and a scheduler that lets nothing be compacted any more once the
// database is of no use. told, if it is not nil, is called once, from any
// goroutine and with locks of Pebble held. The owner closes the database soon.
func Watch(p *pebble.Options, l *slog.Logger, s *Shared, told func(error)) *Health {
	h := &Health{gone: make(chan struct{}), told: told}
	p.Logger = logger{l: l, failed: h.broke}
	p.EventListener = &pebble.EventListener{DataCorruption: h.corrupted, BackgroundError: h.broke}
	p.Cache, p.FileCache = s.blocks, s.files
	p.Experimental.CompactionScheduler = s.compactions.join(&h.rotten)
	return h
}

// corrupted is told of bytes that are not what was written. Their reader gets
// an error; by default Pebble would end the process, and every later one.
func (h *Health) corrupted(info pebble.DataCorruptionInfo) {
	h.broke(fmt.Errorf("%s is corrupt: %w", info.Path, info.Details))
}

// broke is told of what fails in the background.
func (h *Health) broke(err error) {
	if h.rotten.Swap(true) {
		return
	}
	h.why = err
	close(h.gone)
	if h.told != nil {
		h.told(err)
	}
}

// Gone is closed when the database is of no use any more.
func (h *Health) Gone() <-chan struct{} { return h.gone }

// Err is why the database is of no use any more; nil while it is.
func (h *Health) Err() error {
	select {
	case <-h.gone:
		return h.why
	default:
		return nil
	}
}

// Flush writes what db has in memory and waits for it, unless that fails: Pebble
// would wait for room on the disk for ever.
func (h *Health) Flush(db *pebble.DB) error {
	if err := h.Err(); err != nil {
		return err
	}
	flushed, err := db.AsyncFlush()
	if err != nil {
		return err
	}
	select {
	case <-flushed:
		return nil
	case <-h.gone:
		return h.why
	}
}

// Clear removes the files of a database from its directory, and nothing else
// that somebody may keep there. Hold the directory's lock, which stays.
func Clear(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("discarding the database in %s: %w", dir, err)
	}
	var errs []error
	for _, name := range names {
		if ofPebble(name) {
			errs = append(errs, fs.Remove(fs.PathJoin(dir, name)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("discarding the database in %s: %w", dir, err)
	}
	return nil
}

// ofPebble reports whether a file name is one that Pebble gives.
func ofPebble(name string) bool {
	for _, prefix := range []string{"MANIFEST-", "OPTIONS-", "marker.", "CURRENT", "REMOTE-OBJ-CATALOG-", "temporary."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	number, ext, _ := strings.Cut(name, ".")
	switch ext {
	case "sst", "blob", "log", "dbtmp":
		return number != "" && strings.Trim(number, "0123456789-") == ""
	}
	return false
}
