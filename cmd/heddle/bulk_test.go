package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

const broken = `
name: broken
components:
  charge: {step: test.fail, params: {n: 99}}
`

// manyBroken starts a deployment with so many workflows that have failed, and fail again.
func manyBroken(t *testing.T, n int) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", elsewhere(t))
	write(t, "broken.yaml", broken)
	running(t, "broken.yaml")
	for _, id := range ids(n) {
		succeed(t, "start", "broken", "--id", id, "--input", "1")
	}
	failedAgain(t, n)
}

// ids are the names of those workflows.
func ids(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("w%02d", i))
	}
	return all
}

func failedAgain(t *testing.T, n int) {
	t.Helper()
	eventually(t, "all are listed as failed", func() bool {
		return strings.Count(succeed(t, "list", "--status", "failed", "--limit", "0"), "charge (r1)") == n
	})
}

// retries counts the retries in a workflow's history.
func retries(t *testing.T, id string) int {
	t.Helper()
	return strings.Count(succeed(t, "history", id), "RunnableRetried")
}

var operationName = regexp.MustCompile(`op-[a-z0-9]+`)

// An operation that Ctrl-C ends says how to go on, and goes on behind what was done: each
// workflow is retried once, although those that were have failed again.
func TestAnOperationGoesOnAfterCtrlC(t *testing.T) {
	if !apart(t) {
		return
	}
	const n = 30
	manyBroken(t, n)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, told output
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"retry", "--where", "status=failed error=test_failure", "--rate", "1/s", "--yes"},
			streams{in: strings.NewReader(""), out: &out, err: &told})
	}()
	eventually(t, "one was retried", func() bool {
		return slices.ContainsFunc(ids(n), func(id string) bool { return retries(t, id) > 0 })
	})
	stop()
	code := <-ended
	op := operationName.FindString(out.String())
	if code != codeInterrupted || !strings.Contains(out.String(), "Go on with: heddle retry --resume "+op) {
		t.Fatalf("exit %d, %s%s", code, &out.buf, &told.buf)
	}
	first := 0
	for _, id := range ids(n) {
		first += retries(t, id)
	}
	if first == 0 || first >= n {
		t.Fatalf("%d were retried before Ctrl-C", first)
	}
	failedAgain(t, n)

	if code, _, err := heddle(t, "", "cancel", "--resume", op, "--yes"); code != codeUsage || !strings.Contains(err, "heddle retry --resume "+op) {
		t.Errorf("as another command: exit %d, %s", code, err)
	}
	if code, _, err := heddle(t, "", "retry", "--resume", op, "--component", "ship"); code != codeUsage || !strings.Contains(err, "as the operation began") {
		t.Errorf("with other options: exit %d, %s", code, err)
	}
	contains(t, succeed(t, "retry", "--resume", op, "--rate", "none"), fmt.Sprintf("retry: %d done\n", n))
	for _, id := range ids(n) {
		if got := retries(t, id); got != 1 {
			t.Errorf("%s was retried %d times", id, got)
		}
	}
	if code, _, err := heddle(t, "", "retry", "--resume", op); code != codeUsage || !strings.Contains(err, "it is done") {
		t.Errorf("once it is done: exit %d, %s", code, err)
	}
}

func TestManyWorkflowsAreControlled(t *testing.T) {
	const n = 12
	manyBroken(t, n)
	before := succeed(t, "history", "w00")
	contains(t, succeed(t, "retry", "--where", "status=failed", "--dry-run"), "w11", "and 2 more", "Nothing was sent. It would retry 12 workflows")
	var all found
	if err := json.Unmarshal([]byte(succeed(t, "-o", "json", "cancel", "--where", "status=failed", "--dry-run")), &all); err != nil || all.Count != n || len(all.First) != maxFirst {
		t.Errorf("a dry run as JSON: %+v, %v", all, err)
	}
	if after := succeed(t, "history", "w00"); after != before {
		t.Errorf("a dry run changed something:\n%s", after)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"retry", "--where", "status=failed"}, "--yes"},
		{[]string{"retry", "w00", "--where", "status=failed"}, "one workflow"},
		{[]string{"retry"}, "name a workflow"},
		{[]string{"retry", "w00", "--yes"}, "go with --where"},
		{[]string{"retry", "--where", "", "--yes"}, "every workflow"},
		{[]string{"retry", "--where", "status=failde", "--yes"}, "did you mean failed?"},
		{[]string{"retry", "--where", "status=failed", "-r", "r1", "--yes"}, "--component"},
		{[]string{"retry", "--where", "status=failed", "--rate", "fast", "--yes"}, "100/s"},
		{[]string{"skip", "w00"}, "heddle runnables w00 --status failed"},
		{[]string{"skip", "w00", "r1", "--component", "charge"}, "goes with --where"},
		{[]string{"delete", "--resume", "op-1", "--where", "status=idle"}, "as the operation began"},
		{[]string{"delete", "--resume", "../x"}, "is not an operation"},
		{[]string{"delete", "--resume", "op-1"}, "no operation op-1"},
	} {
		if code, out, err := heddle(t, "", c.args...); code != codeUsage || !strings.Contains(err, c.says) {
			t.Errorf("heddle %s: exit %d, %s%s", strings.Join(c.args, " "), code, out, err)
		}
	}

	code, out, err := heddle(t, "", "delete", "--where", "status=failed", "--yes")
	if code != codeFailed || !strings.Contains(out, "delete: 0 done, 12 refused (12 not_closed)") || !strings.Contains(err, "w03: refused: ") {
		t.Errorf("a delete of what is not closed: exit %d, %s%s", code, out, err)
	}
	contains(t, succeed(t, "skip", "--where", "status=failed component=charge q=w0", "--component", "charge", "--yes", "--by", "ann"), "skip: 10 done\n")
	eventually(t, "the skipped ones are idle", func() bool {
		return strings.Count(succeed(t, "list", "--status", "idle"), "w0") == 10
	})
	var s summary
	if err := json.Unmarshal([]byte(succeed(t, "-o", "json", "cancel", "--where", "definition=broken", "--yes")), &s); err != nil || s.Done != n || s.Refused == nil || s.Resume != "" {
		t.Errorf("a cancel as JSON: %+v, %v", s, err)
	}
	eventually(t, "all are cancelled", func() bool {
		return strings.Count(succeed(t, "list", "--status", "cancelled"), "broken") == n
	})
	contains(t, succeed(t, "delete", "--where", "status=cancelled", "--yes"), "delete: 12 done\n")
	eventually(t, "none is left", func() bool { return strings.Count(succeed(t, "list"), "broken") == 0 })
	if left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "heddle", "operations", "*")); err != nil || len(left) > 0 {
		t.Errorf("operations that are done leave %q, %v", left, err)
	}
}

// An operation whose gateway goes away ends with the exit code of that, and can go on.
func TestAnOperationWhoseGatewayGoesAwayCanGoOn(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", elsewhere(t))
	a := &app{Context: t.Context(), streams: streams{out: io.Discard, err: io.Discard}}
	op := &operation{ID: client.NewOperation(), Order: bulkOrder{Command: "retry", Input: json.RawMessage(`{"a":1}`)}, Where: "status=failed", Cursor: "abc", Rate: 3, Stopped: true}
	if err := op.save(); err != nil {
		t.Fatal(err)
	}
	if err := op.close(a, fmt.Errorf("list: %w", client.ErrUnavailable)); codeOf(err) != codeUnreachable {
		t.Errorf("it ends with %v", err)
	}
	again, err := resumed(op.ID, "retry", time.Now().Add(1000*time.Hour)) // nothing was in hand
	if err != nil || again.Cursor != op.Cursor || string(again.Order.Input) != `{"a":1}` || again.Rate != 3 {
		t.Errorf("read again it is %+v, %v", again, err)
	}
}

// One that was killed has commands in hand, of which planners know for a day only.
func TestAKilledOperationGoesOnForADay(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", elsewhere(t))
	op := &operation{ID: client.NewOperation(), Order: bulkOrder{Command: "skip"}, Where: "status=failed"}
	if err := op.save(); err != nil {
		t.Fatal(err)
	}
	if _, err := resumed(op.ID, "skip", time.Now().Add(23*time.Hour)); err != nil {
		t.Error(err)
	}
	if _, err := resumed(op.ID, "skip", time.Now().Add(25*time.Hour)); err == nil || codeOf(err) != codeUsage || !strings.Contains(err.Error(), "done twice") {
		t.Errorf("after 25 hours: %v", err)
	}
}

func TestAPersonIsAsked(t *testing.T) {
	all := found{Count: 3, First: []client.Workflow{{ID: "a\x1b"}, {ID: "b"}}}
	for answer, want := range map[string]error{"y\n": nil, "Yes\n": nil, "yes": nil, "n\n": errNotConfirmed, "\n": errNotConfirmed, "no": errNotConfirmed} {
		var out bytes.Buffer
		if err := ask(strings.NewReader(answer), &out, all, "cancel"); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%q: %v, want %v", answer, err, want)
		}
		contains(t, out.String(), `a\x1b`, "and 1 more", "This will cancel 3 workflows", "[y/N]")
	}
	if err := ask(strings.NewReader(""), io.Discard, all, "cancel"); codeOf(err) != codeUsage || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("where nobody answers: %v", err)
	}
}

func TestRatesAreRead(t *testing.T) {
	for text, want := range map[string]float64{"": 100, "100/s": 100, "30/m": 0.5, "36/h": 0.01, "2.5": 2.5, "none": 0} {
		if got, err := parseRate(text); err != nil || got != want {
			t.Errorf("%q is %g, %v; want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1/s", "fast", "1/d", "/s", "NaN", "Inf/s", "1 2/s", "1e9/s"} {
		if got, err := parseRate(text); err == nil {
			t.Errorf("%q is read as %g", text, got)
		}
	}
}

func TestProgressIsABarOnATerminal(t *testing.T) {
	var out bytes.Buffer
	op := &operation{ID: "op-1", Total: 48, Order: bulkOrder{Command: "retry"}, Where: "status=failed"}
	p := newBulkProgress(&out, true, op)
	p.begin()
	op.Tally = tally{Done: 10, Refused: map[string]int{"closed": 2}}
	p.show()
	p.result(client.BulkResult{Workflow: "w1", Outcome: client.BulkRefused, Err: &client.Error{Code: "closed", Message: "x\ny"}})
	p.end()
	bar := "[######                  ] 12/48  10 done, 2 refused (2 closed)"
	want := "operation op-1: retry where status=failed\n" + bar + "\r\x1b[K" + `w1: refused: closed: x\ny` + "\n" + bar + "\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
