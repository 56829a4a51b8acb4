package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// asProgram, in the environment, makes the tests' program the one that they are about: the
// demo starts its planner by running itself.
const asProgram = "TESTS_RUN_AS_HEDDLE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	startApart()
	os.Exit(m.Run())
}

func TestTheDemoEndsAsPromised(t *testing.T) {
	if !apart(t) {
		return
	}
	elsewhere(t)
	t.Setenv(asProgram, "1")
	// The planner of the demo is not the one that these are for.
	t.Setenv("HEDDLE_DEDUPE_WINDOW", "0s")
	write(t, "heddle.yaml", "planner: {history: 0s}")
	out := &output{}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if code := run(ctx, []string{"demo"}, streams{in: strings.NewReader(""), out: out, err: out}); code != codeDone {
		t.Fatalf("it ended with %d:\n%s", code, out.String())
	}
	contains(t, out.String(), "a planner in one of its own", "The planner's metrics are at http://127.0.0.1:", "The planner is killed (kill -9 ", "A new planner owns all partitions", "Every order ended exactly once")
}

// The demo may end in any way, also by kill -9: its planner does not stay behind.
func TestAChildEndsWithTheProcessThatStartedIt(t *testing.T) {
	elsewhere(t)
	c := brokertest.Start(t, topics.Options{Partitions: 1})
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), own, "planner", "--child", "--brokers", strings.Join(c.Config.Brokers, ","), "--prefix", c.Config.Prefix,
		"--data", t.TempDir(), "--token-key", "0123456789abcdef", "--log-level=error", "--http=127.0.0.1:0")
	child.Env = append(os.Environ(), asProgram+"=1")
	child.Stderr = os.Stderr
	hold, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), dev.ChildReady+" ")
	if err != nil || !ok {
		t.Fatalf("it says %q, %v", line, err)
	}
	contains(t, get(t, "http://"+addr+"/metrics"), "heddle_planner_member 1")
	hold.Close()
	if _ = child.Wait(); child.ProcessState.ExitCode() != codeFailed {
		t.Fatalf("it ended with %v", child.ProcessState)
	}
}
