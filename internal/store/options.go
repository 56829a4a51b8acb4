package store

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// defaultMemTable lets most rows that live shortly die before they reach a
	// table. A partition has at most two memtables; they start at 256 KiB and
	// grow with the load.
	defaultMemTable = 4 << 20

	openFiles = 512 // per partition, a soft limit
	blockSize = 16 << 10
)

// FS is the file system that a store is on.
type FS = vfs.FS

// FewWrites is the category of writes that no statistics tell apart.
const FewWrites = vfs.WriteCategoryUnspecified

// Options say where a store is and what it shares with others.
type Options struct {
	Dir    string
	FS     FS      // nil: the operating system's
	Shared *Shared // nil: caches of its own, small

	MemTableBytes int64        // 0: 4 MiB
	Logger        *slog.Logger // nil: silent

	// Broken is called, once and from any goroutine, when the
	// store turns out to be worth nothing: what is on its disk is corrupt, or
	// cannot be written. Its owner closes it soon. nil: nobody asks.
	Broken func(error)
}

func (o Options) fs() FS {
	if o.FS == nil {
		return vfs.Default
	}
	return o.FS
}

// Files is the file system that the store is on.
func (o Options) Files() FS {
	if o.FS == nil {
		return vfs.Default
	}
	return o.FS
}

// pebble are the settings of the database, with the reason for each that is
// not the default and not of Watch.
func (o Options) pebble() *pebble.Options {
	p := &pebble.Options{
		FS:                          o.FS,
		DisableWAL:                  true, // rebuildable: the journal is the log
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: 3,
		MaxOpenFiles:                openFiles,
		FormatMajorVersion:          pebble.FormatTableFormatV6,
		L0CompactionThreshold:       16, // lookups are mostly answered by memory or filters
		L0StopWritesThreshold:       64, // a restore may be far ahead of compaction
		LBaseMaxBytes:               16 << 20,
	}
	for i := range p.Levels {
		p.Levels[i].BlockSize = blockSize
	}
	TuneLevels(p)
	return p
}

// TuneLevels sets the filters and the compression of every level: for stores
// that change much and are mostly asked for what they do not have.
func TuneLevels(p *pebble.Options) {
	for i := range p.Levels {
		l := &p.Levels[i]
		l.FilterPolicy = bloom.FilterPolicy(10) // most lookups of absent rows read nothing
		l.Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
		if i <= 1 { // rewritten soon: not worth the time
			l.Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
		}
	}
}

// logger passes Pebble's log on. Pebble tells of every flush and compaction at
// its info level: for us that is debugging.
type logger struct {
	l      *slog.Logger
	failed func(error) // told of what a full or failing disk ends
}

func (l logger) Infof(format string, args ...any) {
	l.l.Debug("pebble: " + fmt.Sprintf(format, args...))
}
func (l logger) Errorf(format string, args ...any) {
	l.l.Error("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf is called where going on could corrupt the database: by a defect, or
// because its list of tables (the MANIFEST) cannot be written. The latter comes
// with an error, which Pebble returns once Fatalf has; the database is worth
// nothing then, but its process is.
func (l logger) Fatalf(format string, args ...any) {
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			l.failed(err)
			return
		}
	}
	panic("pebble: " + fmt.Sprintf(format, args...))
}
