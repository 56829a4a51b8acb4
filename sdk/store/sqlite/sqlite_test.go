package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/storetest"
)

func TestConformance(t *testing.T) { storetest.Run(t, place) }

// place is a directory with the file. What a killed process leaves is a copy of it, made between two statements; what the loss of
// power leaves in the middle of a commit is a copy whose write-ahead log ends within what the commit has added.
func place(t testing.TB) storetest.Place {
	dir := t.TempDir()
	return storetest.Place{
		Shared: true,
		Open:   func(t testing.TB) store.Opened { return opened(t, dir) },
		Interrupt: func(_ testing.TB, step int, do func(context.Context, store.Store)) bool {
			s := opened(t, dir)
			ctx, cut := context.WithCancel(t.Context())
			defer cut()
			c := &crash{t: t, dir: dir, step: step, cut: cut}
			s.point = c.point
			do(ctx, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if c.left == "" {
				return false
			}
			dir = c.left
			return true
		},
	}
}

const (
	file = "runs 100%?#.db" // a path, and no part of a URL
	cuts = 5                // places within what a commit writes
)

func opened(t testing.TB, dir string) *db {
	t.Helper()
	s, err := openFile(t.Context(), Options{Path: filepath.Join(dir, file)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// crash keeps what a crash leaves of a directory at a step.
type crash struct {
	t    testing.TB
	dir  string
	step int
	cut  func()
	wal  int    // bytes of the write-ahead log before the commit
	left string // the directory that was left
}

func (c *crash) point(what string) {
	switch {
	case c.left != "":
	case what == "committed" && c.step < cuts:
		wal := read(c.t, c.dir, "-wal")
		c.keep(wal[:c.wal+(len(wal)-c.wal)*c.step/cuts])
	case what == "committed":
		c.step -= cuts
	case c.step == 0:
		c.keep(read(c.t, c.dir, "-wal"))
	default:
		c.step--
	}
	if what == "commit" {
		c.wal = len(read(c.t, c.dir, "-wal"))
	}
}

func (c *crash) keep(wal []byte) {
	c.left = c.t.TempDir()
	for end, content := range map[string][]byte{"": read(c.t, c.dir, ""), "-wal": wal} {
		if err := os.WriteFile(filepath.Join(c.left, file+end), content, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	c.cut()
}

func read(t testing.TB, dir, end string) []byte {
	b, err := os.ReadFile(filepath.Join(dir, file+end))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Several who open a file that is not there yet all find its tables.
func TestAFileIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			s, err := New(t.Context(), Options{Path: filepath.Join(dir, file)})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Append(t.Context(), fmt.Sprint(n), 0, 1, [][]byte{{1}}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := opened(t, dir)
	defer s.Close()
	if p, err := s.List(t.Context(), store.Filter{}, ""); err != nil || len(p.Items) != 6 {
		t.Errorf("%d logs, %v", len(p.Items), err)
	}
}

func TestALaterVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	if _, err := s.sql.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), "sqlite:"+filepath.Join(dir, file)); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("opened with %v", err)
	}
}

func TestWhatIsNoFileIsTold(t *testing.T) {
	for _, address := range []string{"sqlite:", "sqlite::memory:", "sqlite:" + t.TempDir(), "sqlite:" + t.TempDir() + "/not/there.db"} {
		if _, err := Open(t.Context(), address); err == nil {
			t.Errorf("%s is opened", address)
		}
	}
	no := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(no, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), "sqlite:"+no); err == nil {
		t.Error("a text is opened")
	}
}

// A path may have what a URL would take for a host.
func TestAPathIsNoURL(t *testing.T) {
	s, err := Open(t.Context(), "sqlite:/"+filepath.Join(t.TempDir(), "runs.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Acknowledged writes are synced, and readers do not wait for writers.
func TestEachConnectionHasTheSettings(t *testing.T) {
	s := opened(t, t.TempDir())
	defer s.Close()
	for setting, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "30000"} {
		var got string
		if err := s.sql.QueryRowContext(t.Context(), "PRAGMA "+setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", setting, got, err, want)
		}
	}
}

// An entry that is missing is told, and not left out.
func TestWhatIsMissingIsTold(t *testing.T) {
	s := opened(t, t.TempDir())
	defer s.Close()
	if err := s.Append(t.Context(), "a", 0, 1, [][]byte{{1}, {2}, {3}}); err != nil {
		t.Fatal(err)
	}
	for _, position := range []int{1, 0, 2} {
		if _, err := s.sql.ExecContext(t.Context(), "DELETE FROM entries WHERE position = ?", position); err != nil {
			t.Fatal(err)
		}
		if log, err := s.Load(t.Context(), "a", 0); err == nil {
			t.Errorf("the log is given without an entry: %v", log)
		}
	}
}

// A deletion leaves no row behind.
func TestADeletionLeavesNothing(t *testing.T) {
	s := opened(t, t.TempDir())
	defer s.Close()
	snap := store.Snapshot{At: 1, Labels: map[string]string{"l": "v"}, Data: []byte{1}}
	if err := s.Append(t.Context(), "a", 0, 1, [][]byte{{1}}); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveSnapshot(t.Context(), "a", 1, snap); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "a", 1); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"logs", "entries", "snapshots", "labels"} {
		n := -1
		if err := s.sql.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows in %s, %v", n, table, err)
		}
	}
}
