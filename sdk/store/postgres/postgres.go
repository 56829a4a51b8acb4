// Package postgres keeps logs in a schema of a PostgreSQL database, by pgx (github.com/jackc/pgx).
//
// Any number of processes may have the same schema open. A write that was acknowledged is committed, and so as durable as the
// server's synchronous_commit and its disks make it. The tables are made, and brought to the version of the program, when the store is
// opened; then the user of the address needs the right to create a schema, or to create tables in the one that is there. Where
// they have the program's version already, reading and writing them is enough.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/heddle-run/heddle/sdk/store"
)

// DefaultSchema is where the tables are if Options name no schema.
const DefaultSchema = "heddle"

// Options say where a store is.
type Options struct {
	URL    string // postgres://user:password@host:port/database?…, or key=value pairs as libpq has them; PG… variables fill in what is left out
	Schema string // of the tables; "": DefaultSchema

	// Configure changes the pool's configuration before it is used, as its number of connections; nil: it stays
	// as URL and pgx have it.
	Configure func(*pgxpool.Config)
}

type db struct {
	pool   *pgxpool.Pool
	prefix string // of the names of tables: the quoted schema and a dot
	closed atomic.Bool
}

// New opens the store: it connects, and makes or migrates the tables.
func New(ctx context.Context, o Options) (store.Opened, error) {
	if o.Schema == "" {
		o.Schema = DefaultSchema
	}
	config, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, err // it says what is wrong with the URL, without the password
	}
	config.ConnConfig.BuildContextWatcherHandler = askToCancel
	if o.Configure != nil {
		o.Configure(config)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	d := &db{pool: pool, prefix: pgx.Identifier{o.Schema}.Sanitize() + "."}
	if err := d.migrate(ctx, o.Schema); err != nil {
		pool.Close()
		return nil, fmt.Errorf("opening the schema %s: %w", o.Schema, err)
	}
	return d, nil
}

// Open is the store.Opener of this package. An address is a URL that begins with postgres: or postgresql:.
func Open(ctx context.Context, address string) (store.Opened, error) {
	return New(ctx, Options{URL: address})
}

// answerWait is how long the server has to answer that a statement is cancelled, before its connection is given up.
const answerWait = time.Second

// askToCancel makes a connection ask the server to cancel a statement whose context ends. By default pgx closes
// the connection instead, and where that was in the middle of a message it holds a place of the pool for 15 s.
func askToCancel(c *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: answerWait}
}

// named puts the schema before the names of tables, which are written @name.
func (d *db) named(statement string) string { return strings.ReplaceAll(statement, "@", d.prefix) }

// fit says why a call is not answered.
func (d *db) fit(ctx context.Context) error {
	if d.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// Close waits for the calls in flight.
func (d *db) Close() error {
	d.closed.Store(true)
	d.pool.Close()
	return nil
}

// readCommitted begins a transaction whose statements each see what is committed when they begin.
var readCommitted = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}

// in runs a transaction; what do refuses is rolled back.
func (d *db) in(ctx context.Context, do func(pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, d.pool, readCommitted, do)
	if d.closed.Load() && err != nil && ctx.Err() == nil {
		return errors.Join(store.ErrClosed, err)
	}
	return because(ctx, err)
}

// because says that a call's context has ended, where that may be why it failed.
func because(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return errors.Join(ctx.Err(), err)
}
