// Package postgrestest runs a PostgreSQL server of a test's own: one for all tests of a process, made when the
// first one needs it, with a database for each.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is one that listens to a socket in a directory of its own.
type server struct {
	dir     string
	bin     string
	account *syscall.Credential // whom it runs as; nil: as this process
	running *os.Process
	stdin   io.Closer     // ends it when this process does
	ended   chan struct{} // closed when the process has ended
	failed  error         // valid then
	made    int           // databases
}

var (
	mu     sync.Mutex
	shared *server
)

// Database makes an empty database on the shared server and returns its URL. Main stops
// the server. Where PostgreSQL is not installed the test is skipped, unless HEDDLE_POSTGRES is "required".
func Database(t testing.TB) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if shared == nil {
		shared = start(t)
	}
	return shared.database(t)
}

// Kill ends the shared server's first process at once. The others may live, and even answer, until they notice.
func Kill() error {
	mu.Lock()
	defer mu.Unlock()
	return errors.Join(syscall.Kill(-shared.running.Pid, syscall.SIGKILL), shared.wait())
}

// Again starts the shared server over what Kill has left.
func Again(ctx context.Context) error {
	mu.Lock()
	defer mu.Unlock()
	return shared.run(ctx)
}

// Main runs a package's tests, and stops the shared server behind them. It is for TestMain.
func Main(m *testing.M) {
	code := m.Run()
	mu.Lock()
	defer mu.Unlock()
	if shared != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "postgrestest:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func start(t testing.TB) *server {
	t.Helper()
	bin, err := programs()
	if err != nil {
		absent := t.Skipf
		if os.Getenv("HEDDLE_POSTGRES") == "required" {
			absent = t.Fatalf
		}
		absent("PostgreSQL cannot be asked: %v; Debian's package postgresql has it", err)
	}
	s := &server{bin: bin}
	if err := s.create(t.Context()); err != nil {
		t.Fatalf("making a PostgreSQL server: %v", err)
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatalf("starting PostgreSQL: %v", err)
	}
	return s
}

// programs finds the directory of initdb and postgres.
func programs() (string, error) {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	if found, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(found))
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		_, no := os.Stat(filepath.Join(dirs[i], "initdb"))
		_, neither := os.Stat(filepath.Join(dirs[i], "postgres"))
		if no == nil && neither == nil {
			return dirs[i], nil
		}
	}
	return "", errors.New("there are no initdb and postgres on the path or in /usr/lib/postgresql")
}

// create makes the server's files. It runs as somebody else where this process is root, whom PostgreSQL refuses.
func (s *server) create(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "pg") // its path has to be short: that of a socket has a limit
	if err != nil {
		return err
	}
	s.dir = dir
	if os.Getuid() == 0 {
		if s.account, err = account(); err != nil {
			return err
		}
		if err := os.Chown(dir, int(s.account.Uid), int(s.account.Gid)); err != nil {
			return err
		}
	}
	out, err := s.command(ctx, filepath.Join(s.bin, "initdb"), "-D", dir+"/data", "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

func account() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("neither postgres nor nobody is an account to run it as")
}

func (s *server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = s.dir
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.account, Setpgid: true}
	return c
}

// guard ends the server with the process that holds its standard input, which a shell gives to nobody in the background.
const guard = `exec 3<&0; "$@" & server=$!; (cat <&3; kill -QUIT $server) & wait $server`

// run starts the server over its files, and waits until it answers. Behind Kill it may have to be started
// several times, as it refuses to run before the last process of the one before has noticed its end.
func (s *server) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if err := s.launch(); err != nil {
			return err
		}
		for running := true; running; {
			c, err := pgx.Connect(ctx, s.url("postgres"))
			if err == nil {
				return c.Close(ctx)
			}
			if ctx.Err() != nil {
				said, unread := os.ReadFile(filepath.Join(s.dir, "log"))
				return errors.Join(fmt.Errorf("%w; its log is\n%s", err, said), unread, s.wait())
			}
			select {
			case <-s.ended:
				running = false
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}

// launch starts the server's process.
func (s *server) launch() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	// no process of a test loses what the kernel has, so nothing has to be synced
	c := s.command(context.Background(), "/bin/sh", "-c", guard, "sh", filepath.Join(s.bin, "postgres"), "-D", s.dir+"/data", "-k", s.dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200")
	c.Stdout, c.Stderr = log, log
	if s.stdin, err = c.StdinPipe(); err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	s.running, s.ended = c.Process, make(chan struct{})
	go func(ended chan struct{}) {
		s.failed = c.Wait()
		close(ended)
	}(s.ended)
	return nil
}

// url is the address of a database.
func (s *server) url(database string) string {
	return fmt.Sprintf("postgres:///%s?host=%s&user=postgres", database, s.dir)
}

// database makes an empty database and returns its URL.
func (s *server) database(t testing.TB) string {
	t.Helper()
	s.made++
	name := fmt.Sprintf("test%d", s.made)
	c, err := pgx.Connect(t.Context(), s.url("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), "CREATE DATABASE "+name+""); err != nil {
		t.Fatal(err)
	}
	return s.url(name)
}

// stop ends the server and removes its files.
func (s *server) stop() error { return errors.Join(s.wait(), os.RemoveAll(s.dir)) }

// wait waits until the server has ended, which closing its standard input makes it do.
func (s *server) wait() error {
	err := s.stdin.Close()
	if errors.Is(err, os.ErrClosed) { // the process has ended before
		err = nil
	}
	<-s.ended
	var code *exec.ExitError
	if s.failed != nil && !errors.As(s.failed, &code) { // it was told to end, by a signal
		err = errors.Join(err, s.failed)
	}
	return err
}
