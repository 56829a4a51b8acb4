package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/embedded"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
)

// childVariable makes the test binary a program that ends without Close; its value is what
// it does, and the data directory.
const childVariable = "HEDDLE_EMBEDDED_CHILD"

func TestMain(m *testing.M) {
	if v := os.Getenv(childVariable); v != "" {
		what, dir, _ := strings.Cut(v, "|")
		if err := children[what](context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var double = task.Define[int, int]("shop.double")

// doubling has a step of this program's behind a sleep: there is time to be interrupted in.
const doubling = `{"name": "doubling", "components": {
	"nap": {"sleep": "300ms"}, "twice": {"step": "shop.double", "after": "nap"}},
	"outputs": {"twice": "twice"}, "options": {"close": "on_idle"}}`

var quiet = slog.New(slog.DiscardHandler)

// doubles are the options of a program that knows the task; how is set where they go on.
func doubles(o embedded.Options) embedded.Options {
	o.Worker.Logger, o.Logger = quiet, quiet
	o.Tasks = func(w *worker.Worker) {
		worker.Handle(w, double, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	}
	return o
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func open(t *testing.T, ctx context.Context, o embedded.Options) *embedded.Runner {
	t.Helper()
	r, err := embedded.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, r) })
	return r
}

func closed(t *testing.T, r *embedded.Runner) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
}

// doubled waits for a workflow's result.
func doubled(t *testing.T, ctx context.Context, r *embedded.Runner, id string, want int) {
	t.Helper()
	if got, err := client.Result[int](ctx, r.Client.Run(id), "twice"); err != nil || got != want {
		t.Errorf("%s: %d, %v; want %d", id, got, err, want)
	}
}

// listeners is how many sockets of this process others can connect to.
func listeners(t *testing.T) int {
	t.Helper()
	own := map[string]bool{}
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil { // one that is closed by now is none
			own[to] = true
		}
	}
	n := 0
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6", "unix"} {
		n += listening(t, "/proc/self/net/"+table, own)
	}
	return n
}

// listening counts the lines of a table of sockets that are this process's own and are no
// connections.
func listening(t *testing.T, table string, own map[string]bool) int {
	t.Helper()
	f, err := os.Open(table)
	if errors.Is(err, os.ErrNotExist) { // a machine without IPv6
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		of := strings.Fields(lines.Text())
		const state, inode, unixFlags, unixInode = 3, 9, 3, 6
		switch {
		case filepath.Base(table) == "unix":
			if len(of) > unixInode && of[unixFlags] == "00010000" && own["socket:["+of[unixInode]+"]"] {
				n++
			}
		case len(of) > inode && of[state] != "01" && own["socket:["+of[inode]+"]"]:
			n++
		}
	}
	return n
}
