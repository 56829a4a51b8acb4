package store

import (
	"runtime"

	"github.com/cockroachdb/pebble/v2"
)

// Shared is what the stores of one process have in common: the block cache, the
// cache of open tables, and the limit of compactions that run at the same time.
// It is safe for concurrent use.
type Shared struct {
	blocks      *pebble.Cache
	files       *pebble.FileCache
	compactions *compactions
}

// sharedFiles bounds the tables that all stores of a process keep open.
const sharedFiles = 4096

// NewShared makes a Shared whose block cache holds at most blockBytes. Close it
// after the last store.
func NewShared(blockBytes int64) *Shared {
	return newShared(blockBytes, sharedFiles)
}

func newShared(blockBytes int64, files int) *Shared {
	return &Shared{
		blocks:      pebble.NewCache(blockBytes),
		files:       pebble.NewFileCache(1, files),
		compactions: newCompactions(max(1, runtime.GOMAXPROCS(0)/2)),
	}
}

// Close gives up the caches; stores that are still open keep them alive.
func (s *Shared) Close() {
	s.files.Unref()
	s.blocks.Unref()
}
