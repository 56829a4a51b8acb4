package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/shared/rows"
)

// restoreBytes is how much of a changelog is sorted in memory at a time.
const restoreBytes = 16 << 20

// Restorer fills an empty store from a changelog in bulk: what it is given is
// sorted in memory and handed to the database as finished tables. It belongs to
// one goroutine, which does not use the store meanwhile.
type Restorer struct {
	store   *Store
	limit   int // bytes to sort at a time
	records []restored
	bytes   int
	tables  int
	path    string
}

type restored struct {
	key, value []byte // a nil value is a tombstone
}

// Restorer starts a restore. The store must be new: just opened in a wiped
// directory.
func (s *Store) Restorer() *Restorer {
	return &Restorer{
		store: s,
		limit: restoreBytes,
		path:  s.opts.FS.PathJoin(s.opts.Dir, "restore.sst"),
	}
}

// StrayKeyError refuses a record that no checkpoint writes: its key is of no row of
// the changelog. The restore may go on without it.
type StrayKeyError struct {
	Key []byte
	Why string
}

func (e *StrayKeyError) Error() string { return fmt.Sprintf("restoring: key %x: %s", e.Key, e.Why) }

// Put takes the next record of the changelog, in offset order: the latest of a
// key wins. A nil value is a tombstone. It keeps both slices.
func (r *Restorer) Put(key, value []byte) error {
	k, err := rows.ParseKey(key)
	if err != nil {
		return &StrayKeyError{key, err.Error()}
	}
	if local(k.Table) && k.Table != rows.Redo {
		return &StrayKeyError{key, "its table is never in the changelog"}
	}
	r.records = append(r.records, restored{key, value})
	r.bytes += len(key) + len(value)
	if r.bytes < r.limit {
		return nil
	}
	return r.ingest()
}

// Finish writes what is left, applies the redo logs that count, then writes the
// metadata with Complete set, and makes all of it durable in that order. The restored
// rows are clean, but for those of the redo logs.
func (r *Restorer) Finish(m Metadata, logs ...RedoLog) error {
	if err := r.ingest(); err != nil {
		return err
	}
	if err := r.store.redo(logs, m.Applied); err != nil {
		return fmt.Errorf("restoring: %w", err)
	}
	m.Complete = true
	if err := r.store.SetMetadata(m); err != nil {
		return err
	}
	if err := r.store.db.Flush(); err != nil {
		return fmt.Errorf("finishing a restore: %w", err)
	}
	return nil
}

// ingest makes a table of the records at hand and gives it to the database,
// where it covers all earlier ones.
func (r *Restorer) ingest() error {
	latest := r.latest()
	r.records, r.bytes = nil, 0
	if len(latest) == 0 {
		return nil
	}
	if err := r.table(latest); err != nil {
		return fmt.Errorf("restoring: writing a table: %w", err)
	}
	if err := r.store.db.Ingest(context.Background(), []string{r.path}); err != nil {
		return fmt.Errorf("restoring: %w", err)
	}
	r.tables++
	return nil
}

// latest are the records in key order, one per key. The first table leaves
// tombstones out: nothing is below it.
func (r *Restorer) latest() []restored {
	slices.SortStableFunc(r.records, func(a, b restored) int { return bytes.Compare(a.key, b.key) })
	out := r.records[:0]
	for i, rec := range r.records {
		last := i+1 == len(r.records) || !bytes.Equal(rec.key, r.records[i+1].key)
		if last && (rec.value != nil || r.tables > 0) {
			out = append(out, rec)
		}
	}
	return out
}

func (r *Restorer) table(records []restored) error {
	f, err := r.store.opts.FS.Create(r.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	options := r.store.opts.pebbleWriter()
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), options)
	for _, rec := range records {
		if rec.value == nil {
			err = w.Delete(rec.key)
		} else {
			err = w.Set(rec.key, rec.value)
		}
		if err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return w.Close() // syncs
}

func (o Options) pebbleWriter() sstable.WriterOptions {
	p := o.pebble()
	p.EnsureDefaults()
	return p.MakeWriterOptions(0, pebble.FormatTableFormatV6.MaxTableFormat())
}
