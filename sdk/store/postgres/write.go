package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/heddle-run/heddle/sdk/store"
)

// appendEntries is an append in one statement: the row of the log is changed if it is at the expected position and the writer is
// not fenced, and the entries are written if it was. Where that row is locked PostgreSQL waits and asks again.
const (
	appendEntries = `
WITH head AS (
	%s RETURNING log
), written AS (
	INSERT INTO @entries (log, position, data)
	SELECT head.log, $2::bigint + e.n - 1, e.data FROM head, unnest($4::bytea[]) WITH ORDINALITY AS e (data, n)
)
SELECT count(*) FROM head`

	behind = `UPDATE @logs SET entries = entries + cardinality($4::bytea[]), epoch = $3 WHERE id = $1 AND entries = $2 AND epoch <= $3`

	atFirst = `INSERT INTO @logs AS l (id, entries, epoch) VALUES ($1, $2::bigint + cardinality($4::bytea[]), $3)
	ON CONFLICT (id) DO UPDATE SET entries = excluded.entries, epoch = excluded.epoch WHERE l.entries = $2 AND l.epoch <= excluded.epoch`
)

func (d *db) Append(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
	if err := store.CheckAppend(id, at, epoch, entries); err != nil {
		return err
	}
	if err := d.fit(ctx); err != nil {
		return err
	}
	head := behind
	if at == 0 {
		head = atFirst
	}
	statement := d.named(fmt.Sprintf(appendEntries, head))
	return d.in(ctx, func(tx pgx.Tx) error {
		for {
			var changed int
			if err := tx.QueryRow(ctx, statement, id, at, epoch, blobs(entries)).Scan(&changed); err != nil {
				return fmt.Errorf("appending: %w", err)
			}
			if changed > 0 {
				return nil
			}
			l, err := d.logOf(ctx, tx, id, "")
			if err != nil {
				return err
			}
			if epoch < l.epoch {
				return &store.Fenced{ID: id, Epoch: epoch, Current: l.epoch}
			}
			if at != l.entries {
				return &store.Conflict{ID: id, Expected: at, Actual: l.entries}
			}
			// it was deleted and begun again between both statements, and fits now
		}
	})
}

// log is the row of a log, zero if there is none.
type log struct {
	there          bool
	key            int64
	entries, epoch uint64
	snapshotAt     *uint64
}

// logOf reads the row of a log, with a lock where one is named.
func (d *db) logOf(ctx context.Context, tx pgx.Tx, id, lock string) (log, error) {
	l := log{there: true}
	err := tx.QueryRow(ctx, d.named("SELECT log, entries, epoch, snapshot_at FROM @logs WHERE id = $1 "+lock), id).
		Scan(&l.key, &l.entries, &l.epoch, &l.snapshotAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return log{}, nil
	}
	if err != nil {
		return log{}, fmt.Errorf("reading: %w", err)
	}
	return l, nil
}

func (d *db) SaveSnapshot(ctx context.Context, id string, epoch uint64, s store.Snapshot) error {
	if err := store.CheckSnapshot(id, epoch, s); err != nil {
		return err
	}
	return d.locked(ctx, id, epoch, func(tx pgx.Tx, l log) error {
		if s.At > l.entries {
			return &store.Conflict{ID: id, Expected: s.At, Actual: l.entries}
		}
		if l.snapshotAt != nil && s.At < *l.snapshotAt {
			return &store.Conflict{ID: id, Expected: s.At, Actual: *l.snapshotAt}
		}
		names, values := []string{}, []string{}
		for name, value := range s.Labels {
			names, values = append(names, name), append(values, value)
		}
		var all pgx.Batch
		all.Queue(d.named("UPDATE @logs SET epoch = $2, snapshot_at = $3 WHERE log = $1"), l.key, epoch, s.At)
		all.Queue(d.named("INSERT INTO @snapshots (log, data) VALUES ($1, $2) ON CONFLICT (log) DO UPDATE SET data = excluded.data"), l.key, blob(s.Data))
		all.Queue(d.named("DELETE FROM @labels WHERE log = $1"), l.key)
		all.Queue(d.named("INSERT INTO @labels (log, name, value) SELECT $1::bigint, * FROM unnest($2::text[], $3::text[])"), l.key, names, values)
		return together(ctx, tx, &all)
	}, true)
}

func (d *db) Delete(ctx context.Context, id string, epoch uint64) error {
	if err := store.CheckDelete(id, epoch); err != nil {
		return err
	}
	return d.locked(ctx, id, epoch, func(tx pgx.Tx, l log) error {
		if !l.there {
			return nil
		}
		var all pgx.Batch
		for _, table := range []string{"@entries", "@snapshots", "@labels", "@logs"} {
			all.Queue(d.named("DELETE FROM "+table+" WHERE log = $1"), l.key)
		}
		return together(ctx, tx, &all)
	}, false)
}

// locked changes a log under the lock of its row and under its fence. Where there is none, it is begun if the change is to begin it.
func (d *db) locked(ctx context.Context, id string, epoch uint64, change func(pgx.Tx, log) error, begin bool) error {
	if err := d.fit(ctx); err != nil {
		return err
	}
	return d.in(ctx, func(tx pgx.Tx) error {
		l, err := d.logOf(ctx, tx, id, "FOR UPDATE")
		for err == nil && begin && !l.there { // of two who begin it one waits here for the other; a deletion may come between
			if err = d.begin(ctx, tx, id, epoch); err == nil {
				l, err = d.logOf(ctx, tx, id, "FOR UPDATE")
			}
		}
		if err != nil {
			return err
		}
		if epoch < l.epoch {
			return &store.Fenced{ID: id, Epoch: epoch, Current: l.epoch}
		}
		return change(tx, l)
	})
}

func (d *db) begin(ctx context.Context, tx pgx.Tx, id string, epoch uint64) error {
	_, err := tx.Exec(ctx, d.named("INSERT INTO @logs (id, entries, epoch) VALUES ($1, 0, $2) ON CONFLICT (id) DO NOTHING"), id, epoch)
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// together sends statements at once.
func together(ctx context.Context, tx pgx.Tx, all *pgx.Batch) error {
	if err := tx.SendBatch(ctx, all).Close(); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// blob is a value that is not NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func blobs(entries [][]byte) [][]byte {
	all := make([][]byte, len(entries))
	for i, e := range entries {
		all[i] = blob(e)
	}
	return all
}
