package broker

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	lockFile  = "LOCK"
	cleanFile = "CLEAN" // there while the last close was orderly
)

// openDir locks the directory and leaves it so that kfake can load it: a
// compaction that a crash cut short is undone, and what else a crash left is
// repaired.
func openDir(dir string, log *slog.Logger) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the broker's data directory: %w", err)
	}
	lock, err := vfs.Default.Lock(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", dir, ErrInUse, err)
	}
	if err := prepare(dir, log); err != nil {
		return nil, errors.Join(fmt.Errorf("open the broker's data directory %s: %w", dir, err), lock.Close())
	}
	return lock, nil
}

func prepare(dir string, log *slog.Logger) error {
	if err := undoCompaction(dir, log); err != nil {
		return err
	}
	err := os.Remove(filepath.Join(dir, cleanFile))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err // the last close was orderly, or the directory is unusable
	}
	return repair(dir, log)
}

// markClean is written after an orderly close.
func markClean(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, cleanFile), nil, 0o644); err != nil {
		return fmt.Errorf("mark the broker's data directory clean: %w", err)
	}
	return nil
}

// kfake's layout: partitions/TOPIC-P/BASE.dat (record batches as on the wire)
// and BASE.idx beside it (fifteen bytes per batch).
const (
	partitionsDir = "partitions"
	segmentExt    = ".dat"
	indexExt      = ".idx"
)

// eachPartition calls fn with every partition directory and the paths of its
// segments, oldest first.
func eachPartition(dir string, fn func(partition string, segments []string) error) error {
	parts, err := os.ReadDir(filepath.Join(dir, partitionsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, p := range parts {
		partition := filepath.Join(dir, partitionsDir, p.Name())
		files, err := os.ReadDir(partition)
		if err != nil {
			return err
		}
		var segments []string
		for _, f := range files {
			if strings.HasSuffix(f.Name(), segmentExt) {
				segments = append(segments, filepath.Join(partition, f.Name()))
			}
		}
		slices.SortFunc(segments, func(a, b string) int { return cmp.Compare(baseOf(a), baseOf(b)) })
		if err := fn(partition, segments); err != nil {
			return err
		}
	}
	return nil
}

// baseOf is the first offset of a segment, which is its name.
func baseOf(segment string) int64 {
	base, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(segment), segmentExt), 10, 64)
	if err != nil {
		return -1 // not a segment; kfake does not read it either
	}
	return base
}
