// Package sqlite keeps logs in one file, by SQLite as modernc.org/sqlite has translated it to Go: no C compiler is needed.
//
// A write that was acknowledged is synced to the disk (WAL, synchronous=FULL). Several processes of one machine may have
// the file open; one of them writes at a time. Beside the file lie PATH-wal and PATH-shm while it is open; a copy of the
// file alone is whole only when nobody has it open. It must not be on a network file system.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite" // also the driver that database/sql is asked for
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/heddle-run/heddle/sdk/store"
)

// Options say where a store is.
type Options struct {
	Path string // of the file, which is made if it is not there; its directory has to be
}

type db struct {
	sql    *sql.DB
	writer chan struct{} // holds one thing: the turn to write, which SQLite gives to one at a time

	closing sync.RWMutex // held for reading by each call
	closed  bool

	// point, if it is not nil, is told of each place in a write at which a process could die. A test sets it.
	point func(what string)
}

// New opens the store in a file.
func New(ctx context.Context, o Options) (store.Opened, error) { return openFile(ctx, o) }

// Open is the store.Opener of this package. An address is sqlite:PATH.
func Open(ctx context.Context, address string) (store.Opened, error) {
	_, path, _ := strings.Cut(address, ":")
	if path == "" {
		return nil, errors.New("the address names no file, as sqlite:/var/lib/heddle/runs.db does")
	}
	return New(ctx, Options{Path: path})
}

func openFile(ctx context.Context, o Options) (*db, error) {
	if o.Path == "" {
		return nil, errors.New("the path of the store's file is empty")
	}
	if o.Path == ":memory:" { // SQLite would make a database of its own for each connection of the pool
		return nil, errors.New("the path of the store's file is :memory:, which is no file: for a store in memory use sdk/store/memory")
	}
	settings := url.Values{
		"_txlock": {"immediate"}, // a transaction that begins to read and then writes could be refused in the middle
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()), "synchronous(FULL)"},
	}
	name := "file:" + (&url.URL{Path: filepath.Clean(o.Path)}).EscapedPath() + "?" + settings.Encode()
	s, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", o.Path, err)
	}
	d := &db{sql: s, writer: make(chan struct{}, 1)}
	err = d.useWAL(ctx)
	if err == nil {
		err = d.migrate(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store %s: %w", o.Path, err), s.Close())
	}
	return d, nil
}

// patience bounds how long a call waits for others who have the file locked.
const patience = 30 * time.Second

// useWAL makes the file one with a write-ahead log, which it then is for all who open it. While two do so at a time,
// SQLite refuses one of them at once, without the wait of busy_timeout: both would wait for each other.
func (d *db) useWAL(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var mode string
		err := d.sql.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch busy := (*sqlite.Error)(nil); {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("the file cannot have a write-ahead log: its journal mode stays %s", mode)
		case !errors.As(err, &busy) || busy.Code()&0xff != sqlite3.SQLITE_BUSY:
			return fmt.Errorf("giving it a write-ahead log: %w", because(ctx, err))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("giving it a write-ahead log: %w", because(ctx, err))
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// migrations lead from each version of the tables to the next. What is there is never changed: a new version is a new line.
var migrations = []string{`
CREATE TABLE logs (
	log         INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE,
	entries     INTEGER NOT NULL, -- how many
	epoch       INTEGER NOT NULL,
	snapshot_at INTEGER           -- NULL: there is no snapshot
);
CREATE TABLE entries (log INTEGER NOT NULL, position INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (log, position));
CREATE TABLE snapshots (log INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE labels (log INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (log, name)) WITHOUT ROWID;
`}

// migrate brings the tables to the newest version. Of two processes the second finds it done.
func (d *db) migrate(ctx context.Context) error {
	return d.change(ctx, func(w *writing) error {
		var version int
		if err := w.tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("its tables have version %d, and this program knows those up to %d", version, len(migrations))
		}
		for _, m := range migrations[version:] {
			if _, err := w.tx.ExecContext(ctx, m); err != nil {
				return fmt.Errorf("migrating its tables from version %d: %w", version, err)
			}
		}
		_, err := w.tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
		return err
	})
}

// enter says why a call is not answered. Whoever got nil calls leave.
func (d *db) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.closing.RLock()
	if d.closed {
		d.closing.RUnlock()
		return store.ErrClosed
	}
	return nil
}

func (d *db) leave() { d.closing.RUnlock() }

// Close waits for the calls in flight.
func (d *db) Close() error {
	d.closing.Lock()
	defer d.closing.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	if err := d.sql.Close(); err != nil {
		return fmt.Errorf("closing the store: %w", err)
	}
	return nil
}

// because says that a call's context has ended, where that may be why it failed.
func because(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return errors.Join(ctx.Err(), err)
}
