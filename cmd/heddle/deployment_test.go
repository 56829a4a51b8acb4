package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/sdk/client"
)

// output collects what a command prints while it runs.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// running runs `heddle dev` in the working directory until the test ends, and
// returns what it prints.
func running(t *testing.T, args ...string) *output {
	t.Helper()
	out := &output{}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int, 1)
	args = append([]string{"dev", "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--partitions", "2"}, args...)
	go func() { done <- run(ctx, args, streams{in: strings.NewReader(""), out: out, err: out}) }()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != codeDone {
			t.Errorf("heddle dev ended with %d:\n%s", code, out)
		}
	})
	eventually(t, "heddle dev is ready", func() bool { return strings.Contains(out.String(), "Try: ") })
	return out
}

// eventually waits for what another goroutine does in real time.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-limit.C:
			t.Fatalf("it is not so that %s", what)
		case <-tick.C:
		}
	}
}

// succeed runs a command that must succeed and returns what it prints.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	code, out, err := heddle(t, "", args...)
	if code != codeDone {
		t.Fatalf("heddle %s: exit %d\n%s%s", strings.Join(args, " "), code, out, err)
	}
	return out
}

func contains(t *testing.T, out string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("%q is not in:\n%s", w, out)
		}
	}
}

const shout = `
name: shout
version: "1"
input: {schema: {type: object, required: [name], properties: {name: {type: string}}}}
components:
  greet: {expr: "'hello ' + input.name"}
  loud:  {step: test.echo, input: "upper(input)", after: greet}
outputs: {said: loud}
`

func TestAWorkflowFromTheCommandLine(t *testing.T) {
	elsewhere(t)
	write(t, "shout.yaml", shout)
	contains(t, running(t, "shout.yaml").String(), "http://127.0.0.1:", "shout@1 is registered", "heddle run shout name=text")

	code, out, progress := heddle(t, "", "run", "shout", "name=ann", "--id", "w1")
	if code != codeDone {
		t.Fatalf("run: exit %d, %s%s", code, out, progress)
	}
	contains(t, out, "w1  idle", `said  "HELLO ANN"`)
	contains(t, progress, "greet", "the workflow is idle")

	contains(t, succeed(t, "input", "w1", "name=bob", "--wait", "10s"), `"HELLO BOB"`)
	contains(t, succeed(t, "results", "w1", "--all"), `"HELLO ANN"`, `"HELLO BOB"`)
	contains(t, succeed(t, "results", "w1", "--components"), `"hello bob"`)
	contains(t, succeed(t, "get", "w1"), "idle", "shout@1", "2 completed")
	contains(t, succeed(t, "lookup", "w1"), "partition", "dev/", "ready")
	if code, _, err := heddle(t, "", "lookup", "nobody"); code != codeFailed || !strings.Contains(err, "there is no workflow") {
		t.Errorf("lookup of nobody: exit %d, %s", code, err)
	}
	eventually(t, "both partitions are ready, with their committed cursors", func() bool {
		out := succeed(t, "partitions")
		return len(regexp.MustCompile(`(?m)^[01] .* ready .* [0-9]+$`).FindAllString(out, -1)) == 2 &&
			strings.Count(succeed(t, "partitions", "-o", "json"), ".journal/") == 2
	})
	contains(t, succeed(t, "history", "w1"), "WorkflowStarted", "RunnableCompleted", "WorkflowIdle")
	contains(t, succeed(t, "graph", "w1"), "flowchart", "completed")
	contains(t, succeed(t, "runnables", "w1"), "r1", "test.echo")
	if code, _, err := heddle(t, "", "runnables", "w1", "--status", "bogus"); code != codeFailed || !strings.Contains(err, "none of ready, waiting") {
		t.Errorf("runnables of no status: exit %d, %s", code, err)
	}
	contains(t, succeed(t, "watch", "w1"), "WorkflowStarted", "WorkflowIdle")
	contains(t, succeed(t, "journal", "dump", "w1"), "commands", "WorkflowStarted InputAccepted")
	eventually(t, "the list has it", func() bool { return strings.Contains(succeed(t, "list", "--status", "idle"), "w1") })

	contains(t, succeed(t, "pause", "w1"), "paused")
	contains(t, succeed(t, "resume", "w1"), "w1")
	contains(t, succeed(t, "stop", "w1", "--drain", "1s"), "w1")
	contains(t, succeed(t, "cancel", "w1", "--by", "me", "--why", "done"), "cancelled")
	contains(t, succeed(t, "delete", "w1"), "deleted")
	if code, _, err := heddle(t, "", "get", "w1"); code != codeFailed || !strings.Contains(err, "not_found") {
		t.Errorf("a deleted workflow: exit %d, %s", code, err)
	}
}

const scaled = `
name: scaled
components:
  a: {expr: "input * (context.factor ?? 1)"}
  b: {step: test.fail, params: {n: 1}, input: "input", after: a}
`

// What comes after a resumption has the values and rules that it brought.
func TestResumeBringsValuesAndRules(t *testing.T) {
	elsewhere(t)
	write(t, "scaled.yaml", scaled)
	running(t, "scaled.yaml")
	code, out, err := heddle(t, "", "run", "scaled", "--input", "1", "--id", "w", "--policies", `[{"match":"default","max_retries":1}]`)
	if code != codeDone {
		t.Fatalf("run: exit %d, %s%s", code, out, err)
	}
	succeed(t, "pause", "w")
	for flag, arg := range map[string]string{"policies": `[{"match":"default"}]`, "context": `[1]`} {
		if code, _, err := heddle(t, "", "resume", "w", "--"+flag, arg); code != codeFailed || !strings.Contains(err, flag) {
			t.Errorf("resume with %s %s: exit %d, %s", flag, arg, code, err)
		}
	}
	write(t, "rules.json", `[{"match":"default","max_retries":0,"on_failure":"skip"}]`)
	succeed(t, "resume", "w", "--context", `{"factor":3}`, "--policies", "@rules.json")
	succeed(t, "input", "w", "--input", "5", "--wait", "10s")
	contains(t, succeed(t, "get", "w"), "1 skipped")
	contains(t, succeed(t, "results", "w", "--components"), "15")
}

const fee = `
name: fee
context: {required: [tenant], defaults: {rate: 2}}
components:
  total: {expr: "input * context.rate + context.fee", requires: [fee]}
`

// A start brings what its definition requires, for the run or for a component alone.
func TestAStartGivesTheContextThatIsRequired(t *testing.T) {
	elsewhere(t)
	write(t, "fee.yaml", fee)
	running(t, "fee.yaml")
	code, _, err := heddle(t, "", "run", "fee", "--input", "5", "--context", `{"tenant":"acme"}`)
	if code != codeFailed || !strings.Contains(err, "context.fee") || !strings.Contains(err, "the component total requires it") {
		t.Errorf("without what a component requires: exit %d, %s", code, err)
	}
	code, _, err = heddle(t, "", "run", "fee", "--input", "5", "--component-context", `{"tota":{}}`)
	if code != codeFailed || !strings.Contains(err, "nearest: total") {
		t.Errorf("for an unknown component: exit %d, %s", code, err)
	}
	out := succeed(t, "run", "fee", "--input", "5", "--id", "w", "--context", `{"tenant":"acme"}`, "--component-context", `{"total":{"fee":3}}`)
	contains(t, out, "13")
	contains(t, succeed(t, "history", "w", "-o", "json"), `"rate"`)
}

const twice = `
name: twice
components:
  a: {step: test.fail, params: {n: 1}, policy: {on_failure: halt}}
  b: {step: person.decides, after: a, policy: {execution_mode: external}}
outputs: {b: b}
`

func TestAFailedWorkflowIsRetriedAndCompletedByHand(t *testing.T) {
	elsewhere(t)
	write(t, "twice.yaml", twice)
	running(t)
	code, out, err := heddle(t, "", "run", "twice.yaml", "--id", "w")
	if code != codeFailed || !strings.Contains(err, "test_error") && !strings.Contains(err, "attempt 1 of 1 that fail") {
		t.Fatalf("a failed workflow: exit %d, %s%s", code, out, err)
	}
	succeed(t, "retry", "w")
	var open listed[client.Runnable]
	eventually(t, "a person is asked", func() bool {
		if err := json.Unmarshal([]byte(succeed(t, "runnables", "w", "--status", "active", "-o", "json")), &open); err != nil {
			t.Fatal(err)
		}
		return len(open.Items) == 1 && open.Items[0].Component == "b"
	})
	succeed(t, "fail", open.Items[0].Token, "not today")
	succeed(t, "retry", "w", "--component", "b")
	if err := json.Unmarshal([]byte(succeed(t, "runnables", "w", "--status", "active", "-o", "json")), &open); err != nil || len(open.Items) != 1 {
		t.Fatalf("after the retry: %v, %v", open, err)
	}
	succeed(t, "complete", open.Items[0].Token, "--result", `{"yes": true}`)
	contains(t, succeed(t, "results", "w"), "idle", `"yes"`)
	if code, _, err := heddle(t, "", "complete", open.Items[0].Token); code != codeFailed || !strings.Contains(err, "attempt_closed") {
		t.Errorf("completed again: exit %d, %s", code, err)
	}
}

const waitful = `
name: waitful
components:
  typo:   {step: test.ecko, queue: default}
  person: {step: person.decides, policy: {execution_mode: external}}
  nap:    {sleep: 1h}
  alone:  {step: nobody.serves}
  slip:   {step: defalt.echo}
`

// Each thing that is not done says what it waits for.
func TestWhatAWorkflowWaitsForIsTold(t *testing.T) {
	elsewhere(t)
	write(t, "waitful.yaml", waitful)
	running(t, "waitful.yaml")
	succeed(t, "start", "waitful", "--input", "1", "--id", "w")
	eventually(t, "a worker has handed back what it does not know", func() bool {
		return strings.Contains(succeed(t, "get", "w"), "does not know test.ecko; nearest: test.echo")
	})
	for _, command := range []string{"get", "runnables"} {
		contains(t, succeed(t, command, "w"), `a worker of the queue "default" that knows test.ecko`,
			"completion by its token", "its time, due 20", `a worker of the queue "nobody": no worker takes from it now, so none runs nobody.serves`,
			`so none runs defalt.echo; nearest queue that has workers: "default"`)
	}
	contains(t, succeed(t, "history", "w"), "nearest: test.echo")
	succeed(t, "pause", "w")
	contains(t, succeed(t, "get", "w", "-o", "json"), `"status": "paused"`)
}

const branches = `
name: branches
components:
  large:  {condition: "input > 10"}
  ask:    {step: test.echo, after: large}
  small:  {step: test.echo, else: large}
`

// The graph of a workflow at rest says which branch was not taken.
func TestTheGraphSaysWhatWasNotTaken(t *testing.T) {
	elsewhere(t)
	write(t, "branches.yaml", branches)
	running(t, "branches.yaml")
	succeed(t, "start", "branches", "--id", "fresh")
	if out := succeed(t, "graph", "fresh"); strings.Contains(out, "not taken") {
		t.Errorf("before any input:\n%s", out)
	}
	succeed(t, "start", "branches", "--input", "1", "--id", "w", "--wait", "10s")
	out := succeed(t, "graph", "w")
	contains(t, out, "ask<br/>test.echo<br/>not taken", "class c0 not_taken", "class c2 completed")
	if strings.Count(out, "not taken") != 2 { // the condition passed nothing on, either
		t.Errorf("drawn as\n%s", out)
	}
}

func TestASavedDefinitionIsRegisteredAgain(t *testing.T) {
	elsewhere(t)
	write(t, "shout.yaml", shout)
	out := running(t, "shout.yaml")
	write(t, "shout.yaml", strings.Replace(shout, `"1"`, `"2!"`, 1))
	eventually(t, "version 2 is registered", func() bool { return strings.Contains(out.String(), "shout@2! is registered") })
	write(t, "shout.yaml", "name: [\n")
	eventually(t, "a broken file is told", func() bool { return strings.Contains(out.String(), "is no valid definition") })
	contains(t, succeed(t, "start", "shout@1", "name=x", "--wait", "10s"), `"HELLO X"`)
	eventually(t, "the list of definitions has it", func() bool {
		return strings.Contains(succeed(t, "definitions"), "shout  2!       2         1  ")
	})
	for _, wrong := range [][]string{{"definitions", "shuot"}, {"run", "shuot"}, {"run", "shout@3"}} {
		if _, _, err := heddle(t, "", wrong...); !strings.Contains(err, "nearest: shout") {
			t.Errorf("%q: %s", wrong, err)
		}
	}
	write(t, "shout.txt", shout)
	if _, _, err := heddle(t, "", "run", "shout.txt"); !strings.Contains(err, "the file shout.txt was not read: a definition file ends in .yaml, .yml, .json") {
		t.Error(err)
	}
	contains(t, succeed(t, "definitions", "shout"), "shout  1        1  ", "shout  2!       0  ")
	contains(t, succeed(t, "start", "shout", "name=y", "--wait", "10s"), `"HELLO Y"`)
	write(t, "shout.yaml", strings.Replace(shout, "hello", "hullo", 1))
	eventually(t, "a version that changes is warned of", func() bool { return strings.Contains(out.String(), "shout@1 was sha256:") })
}

// From a directory that knows of no dev the usual addresses are tried.
func TestADevThatIsNotNotedIsFoundAtTheUsualAddresses(t *testing.T) {
	dir := elsewhere(t)
	running(t)
	f, err := devfile.Read(devfile.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if code, _, err := heddle(t, "", "list"); code != codeUnreachable || !strings.Contains(err, "nobody listens at 127.0.0.1:1") {
		t.Errorf("exit %d, %s", code, err)
	}
	if code, _, err := heddle(t, "", "journal", "dump"); code != codeUnreachable || !strings.Contains(err, "name brokers with --brokers") || strings.Contains(err, "--url") {
		t.Errorf("exit %d, %s", code, err)
	}
	expected(t, devfile.File{URL: f.URL, Brokers: f.Brokers})
	succeed(t, "list")
	succeed(t, "journal", "dump")
	t.Chdir(dir)
}

func TestDevRefusesADirectoryInUse(t *testing.T) {
	elsewhere(t)
	running(t)
	code, _, err := heddle(t, "", "dev", "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0")
	if code != codeFailed || !strings.Contains(err, "another heddle dev uses this data directory") || !strings.Contains(err, "--data") {
		t.Errorf("exit %d, %s", code, err)
	}
	if _, err := devfile.Find("."); err != nil {
		t.Errorf("the first one's dev.json is gone: %v", err)
	}
}

func TestTheExampleIsEjected(t *testing.T) {
	elsewhere(t)
	succeed(t, "demo", "--eject", "shop")
	for _, name := range []string{"order-fulfilment.yaml", "orders.json", "README.md", "shop/shop.go", "carrier/carrier.go", "cmd/shop/main.go", "go.mod"} {
		if _, err := os.Stat("shop/" + name); err != nil {
			t.Error(err)
		}
	}
	succeed(t, "define", "--check", "shop/order-fulfilment.yaml")
	if code, _, err := heddle(t, "", "demo", "--eject", "shop"); code != codeFailed || !strings.Contains(err, "exists") {
		t.Errorf("ejected over itself: exit %d, %s", code, err)
	}
	if _, err := os.Stat(devfile.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("ejecting started something")
	}
}
