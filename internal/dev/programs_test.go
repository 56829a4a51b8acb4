package dev_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/services/executor"
)

// The example of docs/programs.md does what it says.
func TestTheExampleOfProgramsRuns(t *testing.T) {
	const program = "/usr/bin/wc"
	if _, err := exec.LookPath(program); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("../../docs/programs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(b), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	ctx := within(t)
	d := start(t, ctx, dev.Options{Memory: true, Partitions: 1, Commands: executor.Commands{Allow: []string{program}}})
	defer stop(t, d)
	c := connect(t, d)
	if _, err := c.Define(ctx, "count", []byte(example)); err != nil {
		t.Fatal(err)
	}
	run, err := c.Start(ctx, "count", map[string]string{"text": "warp and weft"}, client.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	words, err := client.Result[int](ctx, run, "words")
	if err != nil {
		t.Fatal(err)
	}
	if words != 3 {
		t.Errorf("it counts %d words, want 3", words)
	}
}
