package postgres

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
)

// migrations lead from each version of the tables to the next. What is there is never changed: a new version is a new line.
var migrations = []string{`
CREATE TABLE @logs (
	log         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id          text COLLATE "C" NOT NULL UNIQUE, -- in the order of its bytes
	entries     bigint NOT NULL,                  -- how many
	epoch       bigint NOT NULL,
	snapshot_at bigint                            -- NULL: there is no snapshot
);
CREATE TABLE @entries (log bigint NOT NULL, position bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY (log, position));
CREATE TABLE @snapshots (log bigint PRIMARY KEY, data bytea NOT NULL);
CREATE TABLE @labels (log bigint NOT NULL, name text COLLATE "C" NOT NULL, value text COLLATE "C" NOT NULL, PRIMARY KEY (log, name));
CREATE INDEX labelled ON @labels (name, value, log);
`}

// migrate brings the tables to the newest version, in one transaction. Of several processes one does it, while the others wait.
func (d *db) migrate(ctx context.Context, schema string) error {
	return d.in(ctx, func(tx pgx.Tx) error {
		if err := fitServer(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lockOf(schema)); err != nil {
			return err
		}
		version, err := d.version(ctx, tx, schema)
		if err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("its tables have version %d, and this program knows those up to %d", version, len(migrations))
		}
		for n := version; n < len(migrations); n++ {
			if _, err := tx.Exec(ctx, d.named(migrations[n])); err != nil {
				return fmt.Errorf("migrating its tables to version %d: %w", n+1, err)
			}
			if _, err := tx.Exec(ctx, d.named("INSERT INTO @migrations (version) VALUES ($1)"), n+1); err != nil {
				return fmt.Errorf("migrating its tables to version %d: %w", n+1, err)
			}
		}
		return nil
	})
}

// fitServer says why a database cannot have the tables.
func fitServer(ctx context.Context, tx pgx.Tx) error {
	var encoding string
	if err := tx.QueryRow(ctx, "SHOW server_encoding").Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database's encoding is %s, and IDs are UTF-8", encoding)
	}
	return nil
}

// lockOf is the advisory lock under which the tables of a schema are migrated.
func lockOf(schema string) int64 {
	h := fnv.New64a()
	h.Write([]byte("heddle store migrations " + schema))
	return int64(h.Sum64())
}

// version is that of the tables; 0: there are none. It makes the schema and the table of versions, but only where they are
// not there: a user who may not has them made by one who may.
func (d *db) version(ctx context.Context, tx pgx.Tx, schema string) (int, error) {
	var isSchema, isTable bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1),
		EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'migrations')`, schema).Scan(&isSchema, &isTable)
	if err != nil {
		return 0, err
	}
	if !isSchema {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize()); err != nil {
			return 0, fmt.Errorf("making the schema: %w", err)
		}
	}
	if !isTable {
		made := "CREATE TABLE @migrations (version bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
		if _, err := tx.Exec(ctx, d.named(made)); err != nil {
			return 0, fmt.Errorf("making the table of versions: %w", err)
		}
	}
	var version int
	err = tx.QueryRow(ctx, d.named("SELECT coalesce(max(version), 0) FROM @migrations")).Scan(&version)
	return version, err
}
