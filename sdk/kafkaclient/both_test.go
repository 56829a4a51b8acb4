package kafkaclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/shared/events"
)

// deployment is a planner and a gateway over an embedded broker.
type deployment struct {
	*brokertest.Cluster
	kafka, http *client.Client
}

func deploy(t *testing.T) deployment {
	t.Helper()
	c := brokertest.Start(t, topics.Options{Partitions: 2})
	dir := t.TempDir() // before the planner's cleanup: it goes last
	running, stop := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- plannerd.Run(running, plannerd.Config{
			Kafka: c.Config, DataDir: dir, Instance: "p", TokenKey: events.Key("0123456789abcdef"), Ready: func() { close(ready) },
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the planner ended with %v", err)
		}
	})
	select {
	case <-ready:
	case <-within(t).Done():
		t.Fatal("the planner is not ready in time")
	}
	g, err := gateway.Open(within(t), gateway.Config{Kafka: c.Config})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(g.Handler())
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		srv.Close()
	})
	d := deployment{Cluster: c}
	if d.kafka, err = kafkaclient.New(within(t), kafkaclient.Options{Brokers: c.Config.Brokers, Prefix: c.Config.Prefix, Dialer: c.Config.Dialer}); err != nil {
		t.Fatal(err)
	}
	if d.http, err = client.New(within(t), client.Options{URL: srv.URL}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.kafka.Close(); d.http.Close() })
	return d
}

const calc = `
name: calc
version: "1"
components:
  double: {expr: "input * 2"}
  ask:    {step: human.approve, after: double, policy: {execution_mode: external}}
  out:    {expr: "input.n + 1", after: ask}
`

// calcMore is the same with one component more, in front of the others by its name.
const calcMore = `{"name":"calc","components":{
	"again":  {"expr": "input * 3", "after": "out"},
	"ask":    {"step": "human.approve", "after": "double", "policy": {"execution_mode": "external"}},
	"double": {"expr": "input * 2"},
	"out":    {"expr": "input.n + 1", "after": "ask"}}}`

func TestBothWaysGiveTheSameAnswers(t *testing.T) {
	d := deploy(t)
	for name, cl := range map[string]*client.Client{"kafka": d.kafka, "http": d.http} {
		t.Run(name, func(t *testing.T) {
			ctx := within(t)
			def, err := cl.Define(ctx, "calc", []byte(calc))
			if err != nil || def.Version != "1" || !strings.HasPrefix(def.Digest, "sha256:") {
				t.Fatalf("define: %+v, %v", def, err)
			}
			run := approve(t, ctx, cl, "orders/"+name)
			if n, err := client.Result[int](ctx, run, "out"); err != nil || n != 8 {
				t.Fatalf("result: %d, %v", n, err)
			}
			reads(t, ctx, cl, run)
			controls(t, ctx, cl, run.ID)
		})
	}
}

// approve starts a workflow and completes its external attempt.
func approve(t *testing.T, ctx context.Context, cl *client.Client, id string) *client.Run {
	t.Helper()
	run, err := cl.Start(ctx, "calc", 21, client.StartOptions{ID: id, By: client.By{Who: "ann", Why: "test"}})
	if err != nil || run.Started.Status != "running" {
		t.Fatalf("start: %+v, %v", run, err)
	}
	if _, err := cl.Start(ctx, "calc", 21, client.StartOptions{ID: id}); !errors.Is(err, client.ErrAlreadyStarted) {
		t.Fatalf("start again: %v", err)
	}
	again, err := cl.Start(ctx, "calc", 21, client.StartOptions{ID: id, IfExists: client.ExistsUse})
	if err != nil || again.Started == nil || again.Started.Run != run.Started.Run {
		t.Fatalf("start or use: %+v, %v", again, err)
	}
	open, err := cl.Runnables(ctx, id, client.PageOptions{Status: "active"})
	if err != nil || len(open.Items) != 1 || open.Items[0].Component != "ask" || string(open.Items[0].Input) != "42" {
		t.Fatalf("runnables: %+v, %v", open, err)
	}
	if _, err := cl.Heartbeat(ctx, open.Items[0].Token, nil); err != nil {
		t.Fatalf("heartbeat: %v", err)
	}
	if _, err := cl.Complete(ctx, open.Items[0].Token, map[string]int{"n": 7}); err != nil {
		t.Fatalf("complete: %v", err)
	}
	if _, err := cl.Complete(ctx, open.Items[0].Token, nil); !errors.Is(err, client.ErrAttemptClosed) {
		t.Fatalf("complete again: %v", err)
	}
	return run
}

func reads(t *testing.T, ctx context.Context, cl *client.Client, run *client.Run) {
	t.Helper()
	w, err := cl.Get(ctx, run.ID)
	if err != nil || w.Status != "idle" || w.Definition.Name != "calc" || w.Counts.Completed != 1 {
		t.Errorf("get: %+v, %v", w, err)
	}
	all, err := cl.AllResults(ctx, run.ID)
	if err != nil || all.Status != "idle" || len(all.Results["out"]) != 1 || string(all.Results["out"][0]) != "8" {
		t.Errorf("all results: %v, %v", all, err)
	}
	made, err := cl.Productions(ctx, run.ID)
	if err != nil || string(made["double"][0]) != "42" {
		t.Errorf("productions: %s, %v", made, err)
	}
	var live []string
	for e, err := range run.Events(ctx) {
		if err != nil {
			t.Fatalf("events: %v", err)
		}
		if live = append(live, e.Type); e.Type == "WorkflowIdle" {
			break
		}
	}
	var past []string
	for cursor := ""; ; {
		page, err := cl.History(ctx, run.ID, client.PageOptions{Cursor: cursor, Limit: 4})
		if err != nil {
			t.Fatalf("history: %v", err)
		}
		for _, e := range page.Items {
			past = append(past, e.Type)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(past) < len(live) || !slices.Equal(live, past[:len(live)]) || !slices.Contains(past, "RunnableCompleted") {
		t.Errorf("events %q, history %q", live, past)
	}
	g, err := cl.Graph(ctx, run.ID, "mermaid")
	if err != nil || !strings.Contains(string(g), "completed") {
		t.Errorf("graph: %s, %v", g, err)
	}
	if g, err = cl.Graph(ctx, run.ID, "json"); err != nil || !json.Valid(g) {
		t.Errorf("graph: %s, %v", g, err)
	}
}

func controls(t *testing.T, ctx context.Context, cl *client.Client, id string) {
	t.Helper()
	by := client.By{Who: "ann", Why: "test"}
	status := func(what string, w *client.Workflow, err error, want client.Status) {
		t.Helper()
		if err != nil || w == nil || w.Status != want {
			t.Errorf("%s: %+v, %v; want %s", what, w, err, want)
		}
	}
	w, err := cl.Pause(ctx, id, by)
	status("pause", w, err, "paused")
	w, err = cl.Input(ctx, id, 1, client.InputOptions{By: by})
	status("input", w, err, "paused")
	w, err = cl.Migrate(ctx, id, calcMore, by)
	status("migrate", w, err, "paused")
	if _, err := cl.Migrate(ctx, id, `{"name":"calc","components":{"double":{"expr":"input"}}}`, by); err == nil || !strings.Contains(err.Error(), "incompatible") || !strings.Contains(err.Error(), "ask: it is gone") {
		t.Errorf("migrate to what lacks a component: %v", err)
	}
	w, err = cl.Resume(ctx, id, client.ResumeOptions{By: by})
	status("resume", w, err, "running")
	w, err = cl.SetPolicies(ctx, id, []any{}, by)
	status("set policies", w, err, "running")
	w, err = cl.Checkpoint(ctx, id, by)
	status("checkpoint", w, err, "running")
	if _, err := cl.Retry(ctx, id, client.RetryOptions{By: by}); err == nil || !strings.Contains(err.Error(), "nothing_to_retry") {
		t.Errorf("retry: %v", err)
	}
	open, err := cl.Runnables(ctx, id, client.PageOptions{Status: "active"})
	if err != nil || len(open.Items) != 1 {
		t.Fatalf("runnables: %+v, %v", open, err)
	}
	if _, err := cl.Fail(ctx, open.Items[0].Token, &task.Error{Type: "no", Message: "not today"}); err != nil {
		t.Errorf("fail: %v", err)
	}
	var failed *client.FailedError
	var why *task.Error
	if _, err := client.Result[int](ctx, cl.Run(id), "out"); !errors.As(err, &failed) || !errors.As(err, &why) || why.Type != "no" || why.Message != "not today" {
		t.Errorf("result of a failed one: %v", err)
	}
	w, err = cl.Skip(ctx, id, open.Items[0].ID, by)
	status("skip", w, err, "idle")
	w, err = cl.Stop(ctx, id, client.StopOptions{Drain: time.Second, By: by})
	status("stop", w, err, "stopped")
	if err := cl.Delete(ctx, id, false, by); err == nil || !strings.Contains(err.Error(), "not_closed") {
		t.Errorf("delete an open one: %v", err)
	}
	w, err = cl.Cancel(ctx, id, by)
	status("cancel", w, err, "cancelled")
	if err := cl.Delete(ctx, id, false, by); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := cl.Get(ctx, id); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("get a deleted one: %v", err)
	}
}

func TestSignalsGoBothWays(t *testing.T) {
	d := deploy(t)
	for name, cl := range map[string]*client.Client{"kafka": d.kafka, "http": d.http} {
		ctx, id := within(t), "signals/"+name
		run, err := cl.Start(ctx, `{"name":"s","components":{"s":{"signal":"go","key":"input"}}}`, "k<1", client.StartOptions{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := cl.Signal(ctx, id, "go", 1, client.SignalOptions{Key: "other", IdempotencyKey: "twice"}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if w, err := cl.Get(ctx, id); err != nil || w.Signals == nil || w.Signals.Count != 1 || w.Signals.First[0].Key != "other" {
			t.Fatalf("%s: a signal that nobody takes: %+v, %v", name, w, err)
		}
		if _, err := cl.Signal(ctx, id, "gone", 1, client.SignalOptions{}); err == nil || !strings.Contains(err.Error(), "unknown_signal") {
			t.Fatalf("%s: a signal of no name: %v", name, err)
		}
		if _, err := run.Signal(ctx, "go", map[string]int{"n": 7}, client.SignalOptions{Key: "k<1"}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := client.Result[map[string]int](ctx, run, "s"); err != nil || got["n"] != 7 {
			t.Fatalf("%s: %v, %v", name, got, err)
		}
	}
}

func TestListsNeedAGateway(t *testing.T) {
	d := deploy(t)
	ctx := within(t)
	if _, err := d.http.Start(ctx, `{"name":"one","components":{"a":{"expr":"input"}}}`, 1, client.StartOptions{ID: "w", Wait: client.UntilDrained, Options: map[string]any{"labels": map[string]string{"team": "x"}}}); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		page, err := d.http.List(ctx, client.Filter{Status: "idle", Definition: "one", Labels: map[string]string{"team": "x"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) == 1 && page.Items[0].ID == "w" && page.Items[0].Owner != nil {
			break
		}
		<-tick.C
	}
	if _, err := d.kafka.Lookup(ctx, "w"); !errors.Is(err, client.ErrUnsupported) {
		t.Errorf("who owns a workflow's partition, over Kafka: %v", err)
	}
	if _, err := d.kafka.List(ctx, client.Filter{}); !errors.Is(err, client.ErrUnsupported) {
		t.Fatalf("over Kafka: %v", err)
	}
}

func TestRepeatedStartGetsTheFirstAnswerBothWays(t *testing.T) {
	d := deploy(t)
	for name, cl := range map[string]*client.Client{"kafka": d.kafka, "http": d.http} {
		for range 2 {
			run, err := cl.Start(within(t), `{"name":"one","components":{"a":{"expr":"input + 1"}}}`, 1, client.StartOptions{ID: "again/" + name, IdempotencyKey: "k", Wait: client.UntilDrained})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if n, err := client.Result[int](within(t), run, "a"); err != nil || n != 2 {
				t.Fatalf("%s: %d, %v", name, n, err)
			}
		}
		_, err := cl.Start(within(t), `{"name":"one","components":{"a":{"expr":"input + 1"}}}`, 2, client.StartOptions{ID: "again/" + name, IdempotencyKey: "k"})
		if !errors.Is(err, client.ErrConflict) {
			t.Fatalf("%s: other content under the same key: %v", name, err)
		}
	}
}

// A client that waits for a workflow that somebody deletes is told, and need not look.
func TestADeletionEndsTheWaitBothWays(t *testing.T) {
	const person = `{"name":"person","components":{"ask":{"step":"human.approve","policy":{"execution_mode":"external"}}}}`
	d := deploy(t)
	for name, cl := range map[string]*client.Client{"kafka": d.kafka, "http": d.http} {
		ctx, id := within(t), "deleted/"+name
		ended := make(chan error, 1)
		go func() {
			_, err := cl.Start(ctx, person, 21, client.StartOptions{ID: id, Wait: client.UntilDrained})
			ended <- err
		}()
		for there := false; !there; {
			_, err := cl.Get(ctx, id)
			if there = err == nil; !there && !errors.Is(err, client.ErrNotFound) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if err := cl.Delete(ctx, id, true, client.By{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err := <-ended
		if e, ok := errors.AsType[*client.Error](err); !ok || !errors.Is(err, client.ErrNotFound) || !strings.Contains(e.Message, "was deleted") {
			t.Errorf("%s: the wait ended with %v", name, err)
		}
	}
}

func TestSuppressedActivationsAreListedBothWays(t *testing.T) {
	d := deploy(t)
	const def = `{"name":"gap","options":{"on_failure":"skip"},
		"components":{"a":{"expr":"input.missing"},"b":{"expr":"input","after":"a"},"c":{"expr":"input","after":"b"}}}`
	for name, cl := range map[string]*client.Client{"kafka": d.kafka, "http": d.http} {
		ctx := within(t)
		run, err := cl.Start(ctx, def, 1, client.StartOptions{ID: "gap/" + name, Wait: client.UntilDrained})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w, err := run.Wait(ctx)
		if err != nil || w.Counts.Suppressed != 2 {
			t.Fatalf("%s: %+v, %v", name, w, err)
		}
		var got []string
		for o := (client.PageOptions{Status: "suppressed", Limit: 1}); ; {
			page, err := cl.Runnables(ctx, run.ID, o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, r := range page.Items {
				got = append(got, r.ID+" "+r.Component+" "+string(r.Status))
			}
			if o.Cursor = page.Next; o.Cursor == "" {
				break
			}
		}
		if want := []string{"s1 b suppressed", "s2 c suppressed"}; !slices.Equal(got, want) {
			t.Errorf("%s: listed %q, want %q", name, got, want)
		}
	}
}
