package view

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/search"
)

// spoil changes bytes of every file in dir whose name has the part.
func spoil(t *testing.T, fs vfs.FS, dir, part string) {
	t.Helper()
	files, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, name := range files {
		if !strings.Contains(name, part) {
			continue
		}
		found = true
		f, err := fs.OpenReadWrite(fs.PathJoin(dir, name), vfs.WriteCategoryUnspecified)
		if err == nil {
			_, err = f.WriteAt([]byte{0xff, 0xfe, 0xfd}, 8)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		t.Fatalf("of %q there is nothing with %q", files, part)
	}
}

// openLogged opens the view and returns what it says.
func openLogged(t *testing.T, fs vfs.FS, dir string) (*View, string) {
	t.Helper()
	var log strings.Builder
	v := newView(fs, dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err := v.openStore(); err != nil {
		t.Fatal(err)
	}
	return v, log.String()
}

// A store that cannot be read is made again, whatever of it is spoiled, and the
// log says why. What else is in its directory stays.
func TestAViewThatCannotBeOpenedIsMadeAgain(t *testing.T) {
	for _, part := range []string{"MANIFEST"} {
		t.Run(part, func(t *testing.T) {
			fs, dir := vfs.Default, t.TempDir()
			v := openTestViewOn(t, fs, dir)
			takeAll(t, v, statusRecords(t, 1, "1.1"))
			closeTestView(t, v)
			other, err := fs.Create(filepath.Join(dir, "other.txt"), vfs.WriteCategoryUnspecified)
			if err == nil {
				err = other.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			spoil(t, fs, dir, part)
			v, log := openLogged(t, fs, dir)
			if !strings.Contains(log, dir) || !strings.Contains(log, "error=") {
				t.Errorf("the log says %q", log)
			}
			if got, err := v.get([]byte("w/w0")); got != nil || err != nil {
				t.Errorf("the new one has %q, %v", got, err)
			}
			takeAll(t, v, statusRecords(t, 1, "1.1"))
			closeTestView(t, v)
			if _, err := fs.Stat(filepath.Join(dir, "other.txt")); err != nil {
				t.Error(err)
			}
			v, log = openLogged(t, fs, dir)
			if got, err := v.get([]byte("w/w0")); got == nil || err != nil || log != "" {
				t.Errorf("opened again it has %q, %v, and says %q", got, err, log)
			}
			closeTestView(t, v)
		})
	}
}

// A store that another process uses is not taken from it, and neither is one
// removed because there is no room.
func TestAViewInUseIsNotRemoved(t *testing.T) {
	fs, dir := vfs.Default, t.TempDir()
	v := openTestViewOn(t, fs, dir)
	takeAll(t, v, statusRecords(t, 1, "1.1"))
	if err := newView(fs, dir, slog.New(slog.DiscardHandler)).openStore(); err == nil {
		t.Error("it was opened twice")
	}
	closeTestView(t, v)
	var full atomic.Bool
	on := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	full.Store(true)
	if err := newView(on, dir, slog.New(slog.DiscardHandler)).openStore(); err == nil {
		t.Error("it was opened without room")
	}
	v = openTestViewOn(t, fs, dir)
	defer closeTestView(t, v)
	if got, err := v.get([]byte("w/w0")); got == nil || err != nil {
		t.Errorf("of w0 the view has %q, %v", got, err)
	}
}

// What a full disk does not take is told once, not at every attempt, and the
// view is opened anew, no faster than it says, until there is room.
func TestAFullDiskIsTriedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		var tries atomic.Int64
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if full.Load() && op.Kind == errorfs.OpFileWrite {
				tries.Add(1)
				return syscall.ENOSPC
			}
			return nil
		}))
		lines := &counting{Handler: slog.DiscardHandler}
		v := newView(fs, "view", slog.New(lines))
		v.begin = func(context.Context) error { return nil }
		if err := v.openStore(); err != nil {
			t.Fatal(err)
		}
		takeAll(t, v, statusRecords(t, 1, "1.1"))
		if err := v.db.Flush(); err != nil {
			t.Fatal(err)
		}
		takeAll(t, v, statusRecords(t, 2, "1.2"))
		full.Store(true)
		if _, err := v.db.AsyncFlush(); err != nil {
			t.Fatal(err)
		}
		<-v.health.Gone()
		if _, err := v.List(search.Filter{}, nil, 10); !errors.Is(err, ErrRemade) {
			t.Errorf("a list of a broken view ends with %v", err)
		}
		began := time.Now()
		time.AfterFunc(10*time.Minute, func() { full.Store(false) })
		for v.health == nil || v.health.Err() != nil {
			v.remake(t.Context())
			if _, err := v.List(search.Filter{}, nil, 10); v.health == nil && !errors.Is(err, ErrRemade) {
				t.Errorf("a list without a view ends with %v", err)
			}
		}
		if n := lines.n.Load(); n == 0 || n > 40 || time.Since(began) < 10*time.Minute || tries.Load() > 10_000 {
			t.Errorf("in %s: %d lines, %d writes", time.Since(began), n, tries.Load())
		}
		if got, err := v.get([]byte("w/w0")); err != nil || !strings.Contains(string(got), `"position":"1.1"`) {
			t.Errorf("of w0 the view has %q, %v", got, err)
		}
		v.settled(nil)
		if page, err := v.List(search.Filter{}, nil, 10); err != nil || len(page.Items) != 1 {
			t.Errorf("the list is %s, %v", page.Items, err)
		}
		closeTestView(t, v)
	})
}

// counting counts lines that are worth an operator's look.
type counting struct {
	slog.Handler
	n atomic.Int64
}

func (c *counting) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (c *counting) Handle(context.Context, slog.Record) error    { c.n.Add(1); return nil }

// Bytes that rot while the view is used cost lists that are answered with 503
// until it is made again from nothing and has caught up.
func TestAViewThatRotsIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		v := newView(fs, "view", slog.New(slog.DiscardHandler))
		v.begin = func(context.Context) error { v.ends = map[int32]int64{0: 2}; return nil }
		if err := v.openStore(); err != nil {
			t.Fatal(err)
		}
		takeAll(t, v, statusRecords(t, 2, "1.1"))
		closeTestView(t, v)
		spoil(t, fs, "view", ".sst")
		if err := v.openStore(); err != nil {
			t.Fatal(err)
		}
		if _, err := v.List(search.Filter{}, nil, 10); err != ErrRemade {
			t.Errorf("a list that meets it: %v", err)
		}
		<-v.health.Gone()
		v.remake(t.Context())
		if _, err := v.List(search.Filter{}, nil, 10); err != ErrRemade {
			t.Errorf("a list while it is made again: %v", err)
		}
		for i, r := range statusRecords(t, 2, "1.1") {
			takeAll(t, v, []*kgo.Record{r})
			v.settled(nil)
			if _, err := v.List(search.Filter{}, nil, 10); (err == nil) != (i == 1) {
				t.Errorf("after %d records: %v", i+1, err)
			}
		}
		if err := v.closeStore(); err != nil {
			t.Error(err)
		}
	})
}

// A store of a later version of Pebble is made again, too.
func TestAViewOfALaterVersionIsMadeAgain(t *testing.T) {
	fs := vfs.NewMem()
	db, err := pebble.Open("view", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.List("view")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasPrefix(name, "marker.format-version") {
			later := name[:strings.LastIndexByte(name, '.')] + ".999"
			if err := fs.Rename("view/"+name, "view/"+later); err != nil {
				t.Fatal(err)
			}
		}
	}
	v, log := openLogged(t, fs, "view")
	if !strings.Contains(log, "version") {
		t.Errorf("the log says %q", log)
	}
	closeTestView(t, v)
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}
