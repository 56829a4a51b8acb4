package sqlite

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
)

// writes appends pairs to one log for as long as the process lives, and says when one is acknowledged.
func writes(t *testing.T, path, name string) {
	s, err := New(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n, at := 0, uint64(0); ; {
		entry := fmt.Appendf(nil, "%s %d", name, n)
		err := s.Append(t.Context(), "log", at, 1, [][]byte{entry, entry})
		var conflict *store.Conflict
		switch {
		case err == nil:
			fmt.Printf("acknowledged %d %s\n", at, entry)
			n, at = n+1, at+2
		case errors.As(err, &conflict):
			at = conflict.Actual
		default:
			t.Fatal(err)
		}
	}
}

// Two processes write one log and are killed with SIGKILL: every pair that was acknowledged is there, and none is torn.
func TestProcessesThatAreKilled(t *testing.T) {
	if path := os.Getenv("HEDDLE_SQLITE_WRITES"); path != "" {
		writes(t, path, os.Getenv("HEDDLE_SQLITE_NAME"))
	}
	dir := t.TempDir()
	acked := make(chan map[uint64]string, 2)
	for _, name := range []string{"first", "second"} {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestProcessesThatAreKilled$")
		c.Env = append(os.Environ(), "HEDDLE_SQLITE_WRITES="+filepath.Join(dir, file), "HEDDLE_SQLITE_NAME="+name)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			said := map[uint64]string{}
			for lines := bufio.NewScanner(out); lines.Scan(); {
				at, n := uint64(0), 0
				if _, err := fmt.Sscanf(lines.Text(), "acknowledged %d "+name+" %d", &at, &n); err != nil {
					t.Errorf("%s said %q", name, lines.Text())
				}
				said[at] = fmt.Sprint(name, " ", n)
				if len(said) == 20 {
					if err := c.Process.Kill(); err != nil {
						t.Error(err)
					}
				}
			}
			if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Errorf("%s ended by itself: %v", name, err)
			}
			acked <- said
		}()
	}
	both := []map[uint64]string{<-acked, <-acked}
	s := opened(t, dir)
	defer s.Close()
	var log []string
	for e, err := range store.Entries(t.Context(), s, "log", 0) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, string(e))
	}
	for at := 0; at < len(log); at += 2 {
		if at+1 == len(log) || log[at] != log[at+1] {
			t.Errorf("the pair at position %d is torn", at)
		}
	}
	for _, said := range both {
		if len(said) < 20 {
			t.Errorf("%d pairs were acknowledged", len(said))
		}
		for at, entry := range said {
			if at >= uint64(len(log)) || log[at] != entry {
				t.Errorf("%q, acknowledged at position %d, is not there", entry, at)
			}
		}
	}
}
