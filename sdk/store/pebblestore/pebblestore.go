// Package pebblestore keeps logs in a directory, by Pebble (github.com/cockroachdb/pebble), a store of sorted keys in Go.
//
// A write that was acknowledged is synced to the disk. One process at a time has a directory open; another one is refused.
// When the disk fails or is full in the middle of a write, the store is given up: that write and every later call return the
// disk's error, and what is there shows when the directory is opened again.
package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/sdk/store"
)

// Options say where a store is.
type Options struct {
	Dir    string       // made if it is not there
	Logger *slog.Logger // for what Pebble tells; nil: nobody is told
}

// writers is how many IDs are written at a time: those that share a lock wait for each other's sync.
const writers = 4096

type db struct {
	pebble *pebble.DB
	broken atomic.Pointer[error]

	closing sync.RWMutex // held for reading by each call
	closed  bool

	seed  maphash.Seed
	locks [writers]sync.Mutex // of the IDs that fall on each
}

// New opens the store in a directory.
func New(o Options) (store.Opened, error) { return openOn(vfs.Default, o) }

// Open is the store.Opener of this package. An address is pebble:DIR.
func Open(_ context.Context, address string) (store.Opened, error) {
	_, dir, _ := strings.Cut(address, ":")
	if dir == "" {
		return nil, errors.New("the address names no directory, as pebble:/var/lib/heddle/runs does")
	}
	return New(Options{Dir: dir})
}

func openOn(fs vfs.FS, o Options) (store.Opened, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d := &db{seed: maphash.MakeSeed()}
	options := &pebble.Options{
		FS:                 fs,
		FormatMajorVersion: pebble.FormatTableFormatV6,
		MemTableSize:       8 << 20,
		Logger:             logger{o.Logger, d.broke},
		EventListener: &pebble.EventListener{
			// who reads corrupt bytes gets an error; by default Pebble ends the process
			DataCorruption: func(i pebble.DataCorruptionInfo) {
				o.Logger.Error("pebble: corrupt data", "path", i.Path, "error", i.Details)
			},
			BackgroundError: func(err error) { o.Logger.Error("pebble: "+err.Error(), "dir", o.Dir) },
		},
	}
	for i := range options.Levels {
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // what begins is looked for first, and is nowhere
	}
	p, err := pebble.Open(o.Dir, options)
	if err != nil {
		return nil, fmt.Errorf("opening the store in %s: %w", o.Dir, err)
	}
	d.pebble = p
	if err := d.checkFormat(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store in %s: %w", o.Dir, err), p.Close())
	}
	return d, nil
}

// format is the version of keys and values.
const format = "heddle store 1"

func (d *db) checkFormat() error {
	have, there, err := get(d.pebble, []byte{formatKey})
	switch {
	case err != nil:
		return err
	case !there:
		return d.pebble.Set([]byte{formatKey}, []byte(format), pebble.Sync)
	case string(have) != format:
		return fmt.Errorf("the format is %q, and this program knows %q", have, format)
	}
	return nil
}

// broke gives the store up.
func (d *db) broke(err error) { d.broken.CompareAndSwap(nil, &err) }

// enter says why a call is not answered. Whoever got nil calls leave.
func (d *db) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.closing.RLock()
	err := d.fit()
	if err != nil {
		d.closing.RUnlock()
	}
	return err
}

func (d *db) leave() { d.closing.RUnlock() }

func (d *db) fit() error {
	if d.closed {
		return store.ErrClosed
	}
	if err := d.broken.Load(); err != nil {
		return fmt.Errorf("the store is given up: %w", *err)
	}
	return nil
}

// lock takes the lock of an ID and returns what releases it.
func (d *db) lock(id string) (unlock func()) {
	mu := &d.locks[maphash.String(d.seed, id)%writers]
	mu.Lock()
	return mu.Unlock
}

// Close waits for the calls in flight. A store that is given up keeps its files open as long as the process
// runs: Pebble would wait for a write that never ends.
func (d *db) Close() error {
	d.closing.Lock()
	defer d.closing.Unlock()
	if d.closed {
		return nil
	}
	broken := d.fit()
	d.closed = true
	if broken != nil {
		return broken
	}
	if err := d.pebble.Close(); err != nil {
		return fmt.Errorf("closing the store: %w", err)
	}
	return nil
}

// logger passes Pebble's log on; what Pebble tells as information is for debugging here.
type logger struct {
	l      *slog.Logger
	failed func(error)
}

func (l logger) Infof(format string, args ...any) {
	l.l.Debug("pebble: " + fmt.Sprintf(format, args...))
}

func (l logger) Errorf(format string, args ...any) {
	l.l.Error("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf is called where going on could corrupt the database: with an error when the disk does not take a write, which the call
// that waits for it finds by fit; without one by a defect.
func (l logger) Fatalf(format string, args ...any) {
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			l.failed(err)
			l.l.Error("pebble: " + fmt.Sprintf(format, args...))
			return
		}
	}
	panic("pebble: " + fmt.Sprintf(format, args...))
}
