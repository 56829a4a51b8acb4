package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// postgresPort is the port of the cluster that the setup script made.
const postgresPort = 5544

var postgresAddr = fmt.Sprintf("127.0.0.1:%d", postgresPort)

// postgres is the setup script's own cluster, never the system's, while a run lasts.
type postgres struct {
	scratch   string
	fsync     bool
	version   string
	pid       int
	firstWAL  string   // the WAL position at the start of the run
	databases []string // those of the run, dropped at its end
}

func postgresURL(db string) string {
	return fmt.Sprintf("postgres://bench:bench@%s/%s?sslmode=disable", postgresAddr, db)
}

func startPostgres(ctx context.Context, cfg Config) (*postgres, error) {
	p := &postgres{scratch: cfg.Scratch, fsync: cfg.Fsync}
	version, err := os.ReadFile(filepath.Join(p.data(), "PG_VERSION"))
	if err != nil {
		return nil, fmt.Errorf("there is no PostgreSQL cluster, which the setup script makes: %w", err)
	}
	p.version = strings.TrimSpace(string(version))
	if err := checkPortsFree(ctx, postgresAddr); err != nil {
		return nil, err
	}
	fsync := "off"
	if cfg.Fsync {
		fsync = "on"
	}
	if err := p.control(ctx, "start", "-l", filepath.Join(p.data(), "server.log"), "-o", "-c fsync="+fsync); err != nil {
		return nil, err
	}
	if err := p.readStart(ctx); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// readStart reads the server's process and its WAL position.
func (p *postgres) readStart(ctx context.Context) error {
	file, err := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(file), "\n")
	if p.pid, err = strconv.Atoi(strings.TrimSpace(first)); err != nil {
		return err
	}
	return p.query(ctx, "postgres", &p.firstWAL, "select pg_current_wal_lsn()::text")
}

func (p *postgres) data() string { return filepath.Join(p.scratch, "postgres") }

// control runs pg_ctl and waits until the server has started or stopped.
func (p *postgres) control(ctx context.Context, action string, args ...string) (err error) {
	args = append([]string{action, "-D", p.data(), "-w", "-t", "60"}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(p.scratch, "postgres-bin", "pg_ctl"), args...)
	cmd.Dir = "/"
	if cmd.SysProcAttr, err = notRoot(); err != nil {
		return err
	}
	// a file, because the server that pg_ctl leaves behind would keep a pipe open
	output, err := os.CreateTemp("", "peers-pg_ctl")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, output.Close(), os.Remove(output.Name())) }()
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Run(); err != nil {
		text, readErr := os.ReadFile(output.Name())
		return errors.Join(fmt.Errorf("pg_ctl %s: %w: %s", action, err, text), readErr)
	}
	return nil
}

// notRoot makes a command run as the user postgres, because PostgreSQL refuses root.
// Other users run it, and own the cluster, themselves.
func notRoot() (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// describe fills in what PostgreSQL decides about a run.
func (p *postgres) describe(d Description) Description {
	if d.Server == "" {
		d.Server = "PostgreSQL " + p.version
	}
	d.Durability = durability(p.fsync)
	return d
}

// pids returns the server's process, none before it has started.
func (p *postgres) pids() []int {
	if p == nil {
		return nil
	}
	return []int{p.pid}
}

// stop drops the run's databases, so that the next run finds none, and stops the server.
func (p *postgres) stop() error {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var errs []error
	for _, db := range p.databases {
		errs = append(errs, p.drop(ctx, db))
	}
	return errors.Join(append(errs, p.control(ctx, "stop", "-m", "fast"))...)
}

func (p *postgres) query(ctx context.Context, db string, into any, sql string, args ...any) (err error) {
	conn, err := pgx.Connect(ctx, postgresURL(db))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	return conn.QueryRow(ctx, sql, args...).Scan(into)
}

func (p *postgres) exec(ctx context.Context, sql string) (err error) {
	conn, err := pgx.Connect(ctx, postgresURL("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

func (p *postgres) exists(ctx context.Context, db string) (bool, error) {
	var n int
	err := p.query(ctx, "postgres", &n, "select count(*) from pg_database where datname = $1", db)
	return n > 0, err
}

func (p *postgres) drop(ctx context.Context, db string) error {
	return p.exec(ctx, "drop database if exists "+db+" with (force)")
}

// create makes a database of the run, empty or from a template.
func (p *postgres) create(ctx context.Context, db, template string) error {
	if err := p.drop(ctx, db); err != nil {
		return err
	}
	sql := "create database " + db
	if template != "" {
		sql += " template " + template
	}
	if err := p.exec(ctx, sql); err != nil {
		return err
	}
	p.databases = append(p.databases, db)
	return nil
}

// checkpoint flushes what the preparation wrote, so that runs start alike.
func (p *postgres) checkpoint(ctx context.Context) error { return p.exec(ctx, "checkpoint") }

// disk returns the size of the run's databases, and the WAL written in the run.
func (p *postgres) disk(ctx context.Context) (DiskUse, error) {
	var use DiskUse
	for _, db := range p.databases {
		var size int64
		if err := p.query(ctx, "postgres", &size, "select pg_database_size($1::name)", db); err != nil {
			return use, err
		}
		use.Stored += size
	}
	err := p.query(ctx, "postgres", &use.WAL, "select pg_wal_lsn_diff(pg_current_wal_lsn(), $1::pg_lsn)::bigint", p.firstWAL)
	return use, err
}
