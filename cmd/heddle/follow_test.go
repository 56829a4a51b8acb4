package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev/devfile"
)

// soon runs the command line as an impatient user would.
func soon(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var stdout, stderr bytes.Buffer
	code = run(ctx, args, streams{in: strings.NewReader(""), out: &stdout, err: &stderr})
	if ctx.Err() != nil {
		t.Fatalf("heddle %s does not end:\n%s%s", strings.Join(args, " "), &stdout, &stderr)
	}
	return code, stdout.String(), stderr.String()
}

// halted fails, and what was under way beside that ends a moment later.
const halted = `
name: halted
components:
  bad:  {step: test.fail, params: {n: 1}, policy: {on_failure: halt}}
  slow: {step: test.sleep, params: {ms: 120}}
`

// What comes last is not always what a workflow rests with: a sibling's result
// after the failure, a refusal long after the end.
func TestRunAndWatchEndWithTheWorkflowsRestWhateverComesLast(t *testing.T) {
	elsewhere(t)
	write(t, "halted.yaml", halted)
	write(t, "shout.yaml", shout)
	running(t, "halted.yaml", "shout.yaml")

	code, out, err := soon(t, "run", "halted", "--id", "w")
	if code != codeFailed || !strings.Contains(out, "w  failed") {
		t.Errorf("run: exit %d, %s%s", code, out, err)
	}
	contains(t, err, "the workflow has failed", "slow")
	if code, out, err := soon(t, "watch", "w"); code != codeFailed || !strings.Contains(out, "WorkflowFailed") {
		t.Errorf("watch: exit %d, %s%s", code, out, err)
	}

	succeed(t, "run", "shout", "name=ann", "--id", "idle")
	if code, _, err := heddle(t, "", "skip", "idle", "r1"); code != codeFailed {
		t.Fatalf("a finished runnable is skipped: exit %d, %s", code, err)
	}
	contains(t, succeed(t, "history", "idle"), "Refused")
	if code, out, err := soon(t, "watch", "idle"); code != codeDone || !strings.Contains(out, "WorkflowIdle") {
		t.Errorf("watch after a refusal: exit %d, %s%s", code, out, err)
	}
	brokers := brokersOf(t)
	if code, out, err := soon(t, "watch", "w", "--brokers", brokers); code != codeFailed || !strings.Contains(out, "WorkflowFailed") {
		t.Errorf("watch over Kafka: exit %d, %s%s", code, out, err)
	}
}

// doubtful has a condition that cannot be evaluated where the input has no x.
const doubtful = `
name: doubtful
options: {close: never}
components:
  c: {condition: "input.x > 1"}
  y: {expr: "input.x", after: c}
`

// A workflow that went on without a condition looks completed: a command that waits for it is
// told, also by the exit code, once for each input.
func TestConditionsThatCannotBeEvaluatedAreToldAndHaveAnExitCode(t *testing.T) {
	elsewhere(t)
	write(t, "doubtful.yaml", doubtful)
	running(t, "doubtful.yaml")
	const why = "c (r1): expression_error"
	for _, args := range [][]string{
		{"run", "doubtful", "--id", "w", "--input", "{}"},
		{"run", "-q", "doubtful", "--id", "quiet", "--input", "{}"},
		{"start", "doubtful", "--id", "started", "--input", "{}", "--wait", "10s"},
		{"watch", "w"},
		{"watch", "w", "--brokers", brokersOf(t)},
	} {
		code, out, err := soon(t, args...)
		if code != codeConditions || !strings.Contains(err, why) {
			t.Errorf("%v: exit %d, %s%s", args, code, out, err)
		}
	}
	contains(t, succeed(t, "get", "w"), "idle", "1 could not be evaluated", why)

	succeed(t, "input", "w", "x=2", "--wait", "10s")
	if code, out, err := soon(t, "input", "w", "y=2", "--wait", "10s"); code != codeConditions || !strings.Contains(err, "(2)") {
		t.Errorf("input: exit %d, %s%s", code, out, err)
	}
	if code, _, err := soon(t, "watch", "w"); code != codeConditions || !strings.Contains(err, "(2)") {
		t.Errorf("watch: exit %d, %s", code, err)
	}
}

// brokersOf are the brokers of the heddle dev that runs in the working directory.
func brokersOf(t *testing.T) string {
	t.Helper()
	f, err := devfile.Find(".")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(f.Brokers, ",")
}
