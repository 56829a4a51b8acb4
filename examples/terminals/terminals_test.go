package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/services/executor"
)

//go:embed terminals.yaml
var definition []byte

// agentVariable makes the test's program an agent of the gateway that it names.
const agentVariable = "HEDDLE_TEST_AGENT"

func TestMain(m *testing.M) {
	if url := os.Getenv(agentVariable); url != "" {
		if err := play(url, 20*time.Millisecond); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// tmux runs tmux on a server of the test.
func tmux(t *testing.T, socket string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(context.Background(), "tmux", append([]string{"-f", "/dev/null", "-S", socket}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
}

func TestThreePanesWorkOnAList(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("HEDDLE_TMUX") == "required" {
			t.Fatal(err)
		}
		t.Skipf("without tmux nothing is typed into terminals: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	socket := filepath.Join(t.TempDir(), "s")
	d, err := dev.Start(ctx, dev.Options{Memory: true, Partitions: 2, Terminals: executor.Terminals{Allow: []string{socket + "=agents"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}()
	agent := []string{"env", agentVariable + "=" + d.URL, os.Args[0]}
	tmux(t, socket, append([]string{"new-session", "-d", "-x", "120", "-y", "60", "-s", "agents"}, agent...)...)
	defer tmux(t, socket, "kill-server")
	for range 2 {
		tmux(t, socket, append([]string{"split-window", "-t", "agents"}, agent...)...)
	}
	c, err := client.New(ctx, client.Options{URL: d.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Define(ctx, "terminals", definition); err != nil {
		t.Fatal(err)
	}
	tasks := []string{"fix the parser", "write its tests", "do the impossible", "describe it", "tidy up"}
	run, err := c.Start(ctx, "terminals", map[string]any{"tasks": tasks, "socket": socket}, client.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Result[struct {
		Value  []said
		Errors []struct {
			Index int
			Error struct{ Type string }
		}
	}](ctx, run, "said")
	if err != nil {
		t.Fatal(err)
	}
	want := []said{{"fix the parser", "%0"}, {"write its tests", "%1"}, {"describe it", "%0"}, {"tidy up", "%1"}}
	if fmt.Sprint(got.Value) != fmt.Sprint(want) {
		t.Errorf("they said %v, want %v", got.Value, want)
	}
	if len(got.Errors) != 1 || got.Errors[0].Index != 2 || got.Errors[0].Error.Type != "impossible" {
		t.Errorf("errors: %+v", got.Errors)
	}
}
