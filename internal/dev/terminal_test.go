package dev_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/services/executor"
)

const typing = `
name: typing
components:
  work:
    step: terminal.submit
    params: {target: agents, leader: agents-lead, text: "do it", worker: claude}
    policy: {max_retries: 9, base_delay: 10ms}
`

// tmux runs tmux on a server of the test.
func tmux(t *testing.T, socket string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(context.Background(), "tmux", append([]string{"-f", "/dev/null", "-S", socket}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
}

// deliveries are what the journal tells of a workflow's deliveries.
type deliveries struct {
	dispatched int
	deferred   int      // times that it told that it waits for its leader
	ends       []string // types of errors
}

func (d *deliveries) tell(t *testing.T, e client.Event) {
	t.Helper()
	var fields struct {
		Details struct{ Reason string }
		Error   struct{ Type string }
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	switch e.Type {
	case "RunnableDispatched":
		d.dispatched++
	case "RunnableHeartbeat":
		if fields.Details.Reason == "leader_missing_deferred" {
			d.deferred++
		}
	case "RunnableFailed":
		d.ends = append(d.ends, fields.Error.Type)
	}
}

// What waits for its leader waits through a restart of executor and planner, tells so once (DF02, DF07), and has all
// its deliveries left: three are unconfirmed, though the policy would allow for more.
func TestDeliveriesAreCountedInTheJournal(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("HEDDLE_TMUX") == "required" {
			t.Fatal(err)
		}
		t.Skipf("without tmux nothing is typed into terminals: %v", err)
	}
	ctx := within(t)
	socket := filepath.Join(t.TempDir(), "s")
	tmux(t, socket, "new-session", "-d", "-s", "agents", "tail", "-f", "/dev/null")
	defer tmux(t, socket, "kill-server")
	d := start(t, ctx, dev.Options{Memory: true, Partitions: 1, Terminals: executor.Terminals{Allow: []string{socket + "=agents*"}}})
	defer stop(t, d)
	c := connect(t, d)
	if _, err := c.Define(ctx, "typing", []byte(typing)); err != nil {
		t.Fatal(err)
	}
	run, err := c.Start(ctx, "typing", map[string]string{"socket": socket}, client.StartOptions{ID: "w"})
	if err != nil {
		t.Fatal(err)
	}
	var seen deliveries
	for e, err := range run.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		before := seen
		seen.tell(t, e)
		switch {
		case seen.deferred == 1 && before.deferred == 0:
			why, err := run.Explain(ctx, client.PageOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(why.Items) != 1 || !strings.Contains(why.Items[0].WaitsFor, "its delivery: leader_missing_deferred") {
				t.Errorf("it is explained by %+v", why.Items)
			}
			if err := d.StopService(dev.Executor); err != nil {
				t.Fatal(err)
			}
			if _, err := d.RestartPlanner(ctx, true); err != nil {
				t.Fatal(err)
			}
			if err := d.StartService(ctx, dev.Executor); err != nil {
				t.Fatal(err)
			}
		case seen.dispatched == 2 && before.dispatched == 1:
			tmux(t, socket, "new-session", "-d", "-s", "agents-lead", "cat")
		}
		if e.Type == "WorkflowFailed" {
			break
		}
	}
	if seen.deferred != 1 {
		t.Errorf("it told %d times that its leader is missing", seen.deferred)
	}
	if want := "[send_unconfirmed send_unconfirmed unconfirmed_after_max_retries]"; fmt.Sprint(seen.ends) != want {
		t.Errorf("the attempts ended with %v, want %s", seen.ends, want)
	}
	if seen.dispatched != 4 {
		t.Errorf("%d attempts: %s", seen.dispatched, strings.Join(seen.ends, ", "))
	}
}
