package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/heddle-run/heddle/sdk/store"
)

// What one Load returns at most, but for an entry that is larger. The driver reads all rows that
// the server sends, so the statement has the bounds in it.
const (
	pageBytes   = 4 << 20
	pageEntries = 1000
)

const loadEntries = `
SELECT l.entries, l.epoch, e.position, e.data FROM @logs l LEFT JOIN LATERAL (
	SELECT position, data FROM (
		SELECT position, data, sum(octet_length(data)) OVER (ORDER BY position) - octet_length(data) AS before FROM (
			SELECT position, data FROM @entries WHERE log = l.log AND position >= $2 ORDER BY position LIMIT $4
		) few
	) counted WHERE before < $3
) e ON true WHERE l.id = $1 ORDER BY e.position`

func (d *db) Load(ctx context.Context, id string, from uint64) (store.Log, error) {
	if err := store.CheckLoad(id, from); err != nil {
		return store.Log{}, err
	}
	if err := d.fit(ctx); err != nil {
		return store.Log{}, err
	}
	log := store.Log{From: from}
	var position *uint64
	var data []byte
	rows, err := d.pool.Query(ctx, d.named(loadEntries), id, from, pageBytes, pageEntries)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&log.End, &log.Epoch, &position, &data}, func() error {
			if position == nil {
				return nil // the row of the log alone
			}
			if want := from + uint64(len(log.Entries)); *position != want {
				return fmt.Errorf("the entry at position %d is missing", want)
			}
			log.Entries = append(log.Entries, append([]byte{}, data...))
			return nil
		})
	}
	if err == nil && from < log.End && len(log.Entries) == 0 {
		err = fmt.Errorf("it has %d entries, and none from position %d on", log.End, from)
	}
	if err != nil {
		return store.Log{}, fmt.Errorf("reading the log %q: %w", id, because(ctx, err))
	}
	return log, nil
}

const (
	labelsOf = `ARRAY(SELECT name FROM @labels b WHERE b.log = l.log ORDER BY name), ARRAY(SELECT value FROM @labels b WHERE b.log = l.log ORDER BY name)`

	loadSnapshot = `SELECT l.snapshot_at, s.data, ` + labelsOf + ` FROM @logs l JOIN @snapshots s ON s.log = l.log WHERE l.id = $1`
)

func (d *db) LoadSnapshot(ctx context.Context, id string) (store.Snapshot, bool, error) {
	if err := store.CheckID(id); err != nil {
		return store.Snapshot{}, false, err
	}
	if err := d.fit(ctx); err != nil {
		return store.Snapshot{}, false, err
	}
	var s store.Snapshot
	var names, values []string
	err := d.pool.QueryRow(ctx, d.named(loadSnapshot), id).Scan(&s.At, &s.Data, &names, &values)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Snapshot{}, false, nil
	}
	if err != nil {
		return store.Snapshot{}, false, fmt.Errorf("reading the snapshot of %q: %w", id, because(ctx, err))
	}
	s.Labels = labels(names, values)
	return s, true, nil
}

func labels(names, values []string) map[string]string {
	if len(names) == 0 {
		return nil
	}
	all := map[string]string{}
	for i, name := range names {
		all[name] = values[i]
	}
	return all
}

func (d *db) Exists(ctx context.Context, id string) (bool, error) {
	if err := store.CheckID(id); err != nil {
		return false, err
	}
	if err := d.fit(ctx); err != nil {
		return false, err
	}
	var there bool
	if err := d.pool.QueryRow(ctx, d.named("SELECT EXISTS (SELECT 1 FROM @logs WHERE id = $1)"), id).Scan(&there); err != nil {
		return false, fmt.Errorf("reading: %w", because(ctx, err))
	}
	return there, nil
}

func (d *db) List(ctx context.Context, f store.Filter, cursor string) (store.Page, error) {
	limit, err := store.CheckList(f, cursor)
	if err != nil {
		return store.Page{}, err
	}
	if err := d.fit(ctx); err != nil {
		return store.Page{}, err
	}
	where, args := conditions(f, cursor, limit+1)
	rows, err := d.pool.Query(ctx, d.named(
		"SELECT l.id, l.entries, l.epoch, l.snapshot_at, "+labelsOf+" FROM @logs l WHERE "+where+" ORDER BY l.id LIMIT $3"), args...)
	var items []store.Item
	var item store.Item
	var at *uint64
	var names, values []string
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&item.ID, &item.End, &item.Epoch, &at, &names, &values}, func() error {
			item.Snapshot, item.SnapshotAt, item.Labels = at != nil, 0, labels(names, values)
			if at != nil {
				item.SnapshotAt = *at
			}
			items = append(items, item)
			return nil
		})
	}
	if err != nil {
		return store.Page{}, fmt.Errorf("listing: %w", because(ctx, err))
	}
	if len(items) > limit {
		return store.Page{Items: items[:limit], Next: items[limit-1].ID}, nil
	}
	return store.Page{Items: items}, nil
}

// conditions are what a filter and a cursor ask of a row of logs; $3 is how many rows are asked for.
func conditions(f store.Filter, cursor string, rows int) (where string, args []any) {
	all := []string{"l.id >= $1", "l.id > $2"}
	args = []any{f.Prefix, cursor, rows}
	arg := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	if end := store.PrefixEnd(f.Prefix); end != "" {
		all = append(all, "l.id < "+arg(end))
	}
	for name, value := range f.Labels {
		all = append(all, "EXISTS (SELECT 1 FROM @labels b WHERE b.log = l.log AND b.name = "+arg(name)+" AND b.value = "+arg(value)+")")
	}
	return strings.Join(all, " AND "), args
}
