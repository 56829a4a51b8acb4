package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/sdk/store"
)

// page bounds the bytes that one Load returns, but for an entry that is larger.
const page = 4 << 20

func (d *db) Load(ctx context.Context, id string, from uint64) (store.Log, error) {
	if err := store.CheckLoad(id, from); err != nil {
		return store.Log{}, err
	}
	if err := d.enter(ctx); err != nil {
		return store.Log{}, err
	}
	defer d.leave()
	// one statement sees one moment; SQLite gives its rows one by one, so those that are not asked for cost nothing
	rows, err := d.sql.QueryContext(ctx, `
		SELECT l.entries, l.epoch, e.position, e.data FROM logs l
		LEFT JOIN entries e ON e.log = l.log AND e.position >= ?
		WHERE l.id = ? ORDER BY e.position`, from, id)
	if err != nil {
		return store.Log{}, fmt.Errorf("reading: %w", because(ctx, err))
	}
	log, err := load(rows, from)
	if err = errors.Join(err, rows.Close()); err != nil {
		return store.Log{}, fmt.Errorf("reading the log %q: %w", id, because(ctx, err))
	}
	return log, nil
}

func load(rows *sql.Rows, from uint64) (store.Log, error) {
	log := store.Log{From: from}
	for size := 0; size < page && rows.Next(); {
		var position sql.Null[int64]
		var data sql.RawBytes
		if err := rows.Scan(&log.End, &log.Epoch, &position, &data); err != nil {
			return store.Log{}, err
		}
		if !position.Valid {
			break // the row of the log alone
		}
		if want := from + uint64(len(log.Entries)); uint64(position.V) != want {
			return store.Log{}, fmt.Errorf("the entry at position %d is missing", want)
		}
		log.Entries = append(log.Entries, append([]byte{}, data...))
		size += len(data)
	}
	if err := rows.Err(); err != nil {
		return store.Log{}, err
	}
	if from < log.End && len(log.Entries) == 0 {
		return store.Log{}, fmt.Errorf("it has %d entries, and none from position %d on", log.End, from)
	}
	return log, nil
}

func (d *db) LoadSnapshot(ctx context.Context, id string) (store.Snapshot, bool, error) {
	if err := store.CheckID(id); err != nil {
		return store.Snapshot{}, false, err
	}
	if err := d.enter(ctx); err != nil {
		return store.Snapshot{}, false, err
	}
	defer d.leave()
	tx, err := d.sql.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // so that both statements see one moment
	if err != nil {
		return store.Snapshot{}, false, fmt.Errorf("beginning to read: %w", because(ctx, err))
	}
	snap, ok, err := snapshot(ctx, tx, id)
	if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) { // a context that ends rolls back by itself
		err = errors.Join(err, undo)
	}
	if err != nil {
		return store.Snapshot{}, false, fmt.Errorf("reading the snapshot of %q: %w", id, because(ctx, err))
	}
	return snap, ok, nil
}

func snapshot(ctx context.Context, tx *sql.Tx, id string) (snap store.Snapshot, ok bool, err error) {
	var key int64
	err = tx.QueryRowContext(ctx, "SELECT l.log, l.snapshot_at, s.data FROM logs l JOIN snapshots s ON s.log = l.log WHERE l.id = ?", id).
		Scan(&key, &snap.At, &snap.Data)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Snapshot{}, false, nil
	}
	if err != nil {
		return store.Snapshot{}, false, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT name, value FROM labels WHERE log = ?", key)
	if err != nil {
		return store.Snapshot{}, false, err
	}
	for rows.Next() && err == nil {
		var name, value sql.Null[string]
		err = rows.Scan(&name, &value)
		label(&snap.Labels, name, value)
	}
	return snap, true, errors.Join(err, rows.Err(), rows.Close())
}

func label(labels *map[string]string, name, value sql.Null[string]) {
	if !name.Valid {
		return
	}
	if *labels == nil {
		*labels = map[string]string{}
	}
	(*labels)[name.V] = value.V
}

func (d *db) Exists(ctx context.Context, id string) (bool, error) {
	if err := store.CheckID(id); err != nil {
		return false, err
	}
	if err := d.enter(ctx); err != nil {
		return false, err
	}
	defer d.leave()
	var there bool
	if err := d.sql.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM logs WHERE id = ?)", id).Scan(&there); err != nil {
		return false, fmt.Errorf("reading: %w", because(ctx, err))
	}
	return there, nil
}

func (d *db) List(ctx context.Context, f store.Filter, cursor string) (store.Page, error) {
	limit, err := store.CheckList(f, cursor)
	if err != nil {
		return store.Page{}, err
	}
	if err := d.enter(ctx); err != nil {
		return store.Page{}, err
	}
	defer d.leave()
	where, args := conditions(f, cursor)
	rows, err := d.sql.QueryContext(ctx, `
		SELECT l.id, l.entries, l.epoch, l.snapshot_at, b.name, b.value
		FROM (SELECT * FROM logs l WHERE `+where+` ORDER BY id LIMIT ?) l
		LEFT JOIN labels b ON b.log = l.log ORDER BY l.id`, append(args, limit+1)...)
	if err != nil {
		return store.Page{}, fmt.Errorf("reading: %w", because(ctx, err))
	}
	items, err := list(rows)
	if err = errors.Join(err, rows.Close()); err != nil {
		return store.Page{}, fmt.Errorf("listing: %w", because(ctx, err))
	}
	if len(items) > limit {
		return store.Page{Items: items[:limit], Next: items[limit-1].ID}, nil
	}
	return store.Page{Items: items}, nil
}

// conditions are what a filter and a cursor ask of a row of logs.
func conditions(f store.Filter, cursor string) (where string, args []any) {
	all := []string{"l.id >= ?", "l.id > ?"}
	args = []any{f.Prefix, cursor}
	if end := store.PrefixEnd(f.Prefix); end != "" {
		all, args = append(all, "l.id < ?"), append(args, end)
	}
	for name, value := range f.Labels {
		all = append(all, "EXISTS (SELECT 1 FROM labels b WHERE b.log = l.log AND b.name = ? AND b.value = ?)")
		args = append(args, name, value)
	}
	return strings.Join(all, " AND "), args
}

func list(rows *sql.Rows) ([]store.Item, error) {
	var items []store.Item
	for rows.Next() {
		var i store.Item
		var at sql.Null[int64]
		var name, value sql.Null[string]
		if err := rows.Scan(&i.ID, &i.End, &i.Epoch, &at, &name, &value); err != nil {
			return nil, err
		}
		i.Snapshot, i.SnapshotAt = at.Valid, uint64(at.V)
		if n := len(items); n == 0 || items[n-1].ID != i.ID {
			items = append(items, i)
		}
		label(&items[len(items)-1].Labels, name, value)
	}
	return items, rows.Err()
}
