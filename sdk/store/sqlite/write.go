package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/sdk/store"
)

func (d *db) Append(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
	if err := store.CheckAppend(id, at, epoch, entries); err != nil {
		return err
	}
	return d.write(ctx, id, epoch, func(w *writing, l *log) error {
		if l.entries != at {
			return &store.Conflict{ID: id, Expected: at, Actual: l.entries}
		}
		if err := w.touch(id, epoch, l); err != nil {
			return err
		}
		for i, e := range entries {
			if err := w.exec("INSERT INTO entries (log, position, data) VALUES (?, ?, ?)", l.key, at+uint64(i), blob(e)); err != nil {
				return err
			}
		}
		return w.exec("UPDATE logs SET entries = ? WHERE log = ?", at+uint64(len(entries)), l.key)
	})
}

func (d *db) SaveSnapshot(ctx context.Context, id string, epoch uint64, s store.Snapshot) error {
	if err := store.CheckSnapshot(id, epoch, s); err != nil {
		return err
	}
	return d.write(ctx, id, epoch, func(w *writing, l *log) error {
		if s.At > l.entries {
			return &store.Conflict{ID: id, Expected: s.At, Actual: l.entries}
		}
		if l.snapshotAt.Valid && s.At < uint64(l.snapshotAt.V) {
			return &store.Conflict{ID: id, Expected: s.At, Actual: uint64(l.snapshotAt.V)}
		}
		if err := w.touch(id, epoch, l); err != nil {
			return err
		}
		err := errors.Join(
			w.exec("UPDATE logs SET snapshot_at = ? WHERE log = ?", s.At, l.key),
			w.exec("INSERT OR REPLACE INTO snapshots (log, data) VALUES (?, ?)", l.key, blob(s.Data)),
			w.exec("DELETE FROM labels WHERE log = ?", l.key),
		)
		for name, value := range s.Labels {
			if err == nil {
				err = w.exec("INSERT INTO labels (log, name, value) VALUES (?, ?, ?)", l.key, name, value)
			}
		}
		return err
	})
}

func (d *db) Delete(ctx context.Context, id string, epoch uint64) error {
	if err := store.CheckDelete(id, epoch); err != nil {
		return err
	}
	return d.write(ctx, id, epoch, func(w *writing, l *log) error {
		if !l.there {
			return nil
		}
		for _, table := range []string{"entries", "snapshots", "labels", "logs"} {
			if err := w.exec("DELETE FROM "+table+" WHERE log = ?", l.key); err != nil {
				return err
			}
		}
		return nil
	})
}

// log is the row of a log, zero if there is none.
type log struct {
	there          bool
	key            int64
	entries, epoch uint64
	snapshotAt     sql.Null[int64]
}

// write changes a log under its fence.
func (d *db) write(ctx context.Context, id string, epoch uint64, change func(*writing, *log) error) error {
	if err := d.enter(ctx); err != nil {
		return err
	}
	defer d.leave()
	return because(ctx, d.change(ctx, func(w *writing) error {
		l := log{there: true}
		err := w.tx.QueryRowContext(ctx, "SELECT log, entries, epoch, snapshot_at FROM logs WHERE id = ?", id).
			Scan(&l.key, &l.entries, &l.epoch, &l.snapshotAt)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			l = log{}
		case err != nil:
			return fmt.Errorf("reading: %w", err)
		case epoch < l.epoch:
			return &store.Fenced{ID: id, Epoch: epoch, Current: l.epoch}
		}
		return change(w, &l)
	}))
}

// writing is a transaction that writes.
type writing struct {
	ctx   context.Context
	tx    *sql.Tx
	point func(string)
}

// change runs a transaction that has the turn to write from its begin on.
func (d *db) change(ctx context.Context, do func(*writing) error) error {
	select {
	case d.writer <- struct{}{}:
		defer func() { <-d.writer }()
	case <-ctx.Done():
		return ctx.Err()
	}
	point := d.point
	if point == nil {
		point = func(string) {}
	}
	tx, err := d.sql.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning to write: %w", err)
	}
	if err := do(&writing{ctx, tx, point}); err != nil {
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) { // a context that ends rolls back by itself
			return errors.Join(err, fmt.Errorf("rolling back: %w", undo))
		}
		return err
	}
	point("commit")
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	point("committed")
	return nil
}

func (w *writing) exec(statement string, args ...any) error {
	w.point(statement)
	if _, err := w.tx.ExecContext(w.ctx, statement, args...); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// touch makes the row of a log if there is none, and writes its epoch.
func (w *writing) touch(id string, epoch uint64, l *log) error {
	if l.there {
		return w.exec("UPDATE logs SET epoch = ? WHERE log = ?", epoch, l.key)
	}
	if err := w.exec("INSERT INTO logs (id, entries, epoch) VALUES (?, 0, ?)", id, epoch); err != nil {
		return err
	}
	if err := w.tx.QueryRowContext(w.ctx, "SELECT log FROM logs WHERE id = ?", id).Scan(&l.key); err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	l.there = true
	return nil
}

// blob is a value that the driver does not take for NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
