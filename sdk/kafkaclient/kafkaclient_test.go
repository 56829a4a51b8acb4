package kafkaclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/events"
)

// overKafka is a client whose questions script answers.
func overKafka(t testing.TB, script requesttest.Script) *client.Client {
	t.Helper()
	c := brokertest.Start(t, topics.Options{})
	requesttest.Start(t, c.Config, script)
	cl, err := kafkaclient.New(within(t), kafkaclient.Options{Brokers: c.Config.Brokers, Prefix: c.Config.Prefix, Dialer: c.Config.Dialer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cl.Close() })
	return cl
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func status(id, status string) string {
	return fmt.Sprintf(`{"id":%q,"run":"1.2","status":%q,"definition":{"name":"d","version":"1","digest":"sha256:0"},`+
		`"labels":{"team":"x"},"partition":1,"created_at":"2026-01-02T03:04:05.000Z","updated_at":"2026-01-02T03:04:05.000Z",`+
		`"counts":{"ready":0,"waiting":0,"active":0,"completed":1,"failed":0,"skipped":0,"suppressed":0,"cancelled":0},`+
		`"failure":null,"position":"1.4"}`, id, status)
}

// doubling answers starts as a workflow does that doubles its input.
func doubling(q requesttest.Request) []events.Reply {
	if q.Query != nil {
		switch q.Query.Kind {
		case "workflow":
			return []events.Reply{requesttest.Answer(status(q.Query.Workflow, "idle"))}
		case "results":
			return []events.Reply{requesttest.Answer(`{"status":"idle","results":{"out":42}}`)}
		}
		return []events.Reply{requesttest.Refuse("not_found", "there is none", "")}
	}
	start, ok := q.Command.Body.(*events.StartWorkflow)
	if !ok {
		return []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone}}
	}
	var in int
	if err := json.Unmarshal(start.Input, &in); err != nil {
		return []events.Reply{requesttest.Refuse("invalid_input", err.Error(), "input")}
	}
	body := status(q.Command.Workflow, "running")
	list := []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone, Body: json.RawMessage(body)}}
	if q.Command.ReplyTo.Wait {
		done := fmt.Sprintf(`{"workflow":%s,"results":{"out":%d}}`, status(q.Command.Workflow, "idle"), 2*in)
		list = append(list, events.Reply{Kind: events.ReplyDrained, Body: json.RawMessage(done)})
	}
	return list
}

func TestManyStartsAtOnceEachGetTheirOwnResult(t *testing.T) {
	cl := overKafka(t, doubling)
	ctx := within(t)
	var wg sync.WaitGroup
	for i := range 512 {
		wg.Go(func() {
			run, err := cl.Start(ctx, "double", i, client.StartOptions{Wait: client.UntilDrained})
			if err != nil {
				t.Error(err)
				return
			}
			if out, err := client.Result[int](ctx, run, "out"); err != nil || out != 2*i {
				t.Errorf("%d: got %d, %v", i, out, err)
			}
		})
	}
	wg.Wait()
}

func TestStartReturnsWhenDecidedAndWaitLooksUntilDrained(t *testing.T) {
	cl := overKafka(t, doubling)
	ctx := within(t)
	run, err := cl.Start(ctx, "double", 1, client.StartOptions{ID: "orders/17"})
	if err != nil {
		t.Fatal(err)
	}
	if run.ID != "orders/17" || run.Started == nil || run.Started.Status != "running" || run.Started.Labels["team"] != "x" {
		t.Fatalf("got %+v, %+v", run, run.Started)
	}
	if w, err := run.Wait(ctx); err != nil || w.Status != "idle" {
		t.Fatalf("wait: %+v, %v", w, err)
	}
	if out, err := client.Result[int](ctx, run, "out"); err != nil || out != 42 {
		t.Fatalf("result: %d, %v", out, err)
	}
	if _, err := client.Result[int](ctx, run, "other"); err == nil || !strings.Contains(err.Error(), `no output "other"`) {
		t.Fatalf("another output: %v", err)
	}
}

func TestRefusalsAreTyped(t *testing.T) {
	cl := overKafka(t, func(q requesttest.Request) []events.Reply {
		if q.Command.Name == "start" {
			r := requesttest.Refuse("already_started", "it exists", "")
			r.Body = json.RawMessage(status(q.Command.Workflow, "paused"))
			return []events.Reply{r}
		}
		return []events.Reply{requesttest.Refuse("not_found", "there is none", "runnable")}
	})
	ctx := within(t)
	_, err := cl.Start(ctx, "d", 1, client.StartOptions{ID: "w"})
	var refused *client.Error
	if !errors.Is(err, client.ErrAlreadyStarted) || !errors.As(err, &refused) || refused.Workflow.Status != "paused" {
		t.Fatalf("start: %v", err)
	}
	run, err := cl.Start(ctx, "d", 1, client.StartOptions{ID: "w", IfExists: client.ExistsUse})
	if err != nil || run.Started.Status != "paused" {
		t.Fatalf("start or use: %+v, %v", run, err)
	}
	_, err = cl.Pause(ctx, "w", client.By{})
	if !errors.Is(err, client.ErrNotFound) || !errors.As(err, &refused) || refused.Path != "runnable" {
		t.Fatalf("pause: %v", err)
	}
	if _, err = cl.Start(ctx, "d", 1, client.StartOptions{ID: "_partition/1"}); err == nil || !strings.Contains(err.Error(), "invalid_workflow_id") {
		t.Fatalf("a system's id: %v", err)
	}
}

func TestStopSendsWhatItWasGiven(t *testing.T) {
	var got atomic.Pointer[events.StopWorkflow]
	cl := overKafka(t, func(q requesttest.Request) []events.Reply {
		got.Store(q.Command.Body.(*events.StopWorkflow))
		return []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone}}
	})
	o := client.StopOptions{Drain: time.Minute, Abandon: true, By: client.By{Who: "ann", Why: "lunch"}}
	if _, err := cl.Stop(within(t), "w", o); err != nil {
		t.Fatal(err)
	}
	b := got.Load()
	if time.Duration(b.Drain) != time.Minute || b.Persist == nil || *b.Persist || b.Who != "ann" || b.By.Why != "lunch" {
		t.Fatalf("got %+v", b)
	}
}

func TestCompletionGoesToTheWorkflowOfItsToken(t *testing.T) {
	var got atomic.Pointer[events.Command]
	cl := overKafka(t, func(q requesttest.Request) []events.Reply {
		got.Store(q.Command)
		return []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone}}
	})
	token := events.TokenText(events.Key("0123456789abcdef").Seal(events.Token{Workflow: "w/1", Runnable: 3, Attempt: 1}))
	for name, send := range map[string]func() error{
		"complete":  func() error { _, err := cl.Complete(within(t), token, map[string]int{"a": 1}); return err },
		"fail":      func() error { _, err := cl.Fail(within(t), token, &task.Error{Type: "t"}); return err },
		"heartbeat": func() error { _, err := cl.Heartbeat(within(t), token, nil); return err },
	} {
		if err := send(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c := got.Load(); c.Name != name || c.Workflow != "w/1" {
			t.Fatalf("%s: got %+v", name, c)
		}
	}
	if _, err := cl.Complete(within(t), "nonsense", nil); err == nil {
		t.Fatal("a token that is none was taken")
	}
}

func TestOwnDefinitionStartsThoughThePlannerHasNotSeenIt(t *testing.T) {
	var seen []string
	cl := overKafka(t, func(q requesttest.Request) []events.Reply {
		b := q.Command.Body.(*events.StartWorkflow)
		seen = append(seen, string(b.Definition))
		if b.Definition[0] == '"' {
			return []events.Reply{requesttest.Refuse("unknown_definition", "never heard of it", "definition")}
		}
		return []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone}}
	})
	ctx := within(t)
	d, err := cl.Define(ctx, "double", []byte("name: double\ncomponents: {a: {expr: input * 2}}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Start(ctx, "double", 1, client.StartOptions{IdempotencyKey: "k"}); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || seen[0] != `"`+d.Digest+`"` || !strings.HasPrefix(seen[1], `{"components"`) {
		t.Fatalf("sent %q", seen)
	}
	if _, err := cl.Start(ctx, "triple", 1, client.StartOptions{}); err == nil || !strings.Contains(err.Error(), "unknown_definition") {
		t.Fatalf("a definition of nobody: %v", err)
	}
}

func TestInvalidDefinitionNamesEachFieldAtFault(t *testing.T) {
	cl := overKafka(t, requesttest.Echo)
	_, err := cl.Define(within(t), "d", []byte(`{"name":"d","components":{"a":{"expr":"input +"},"b":{"step":"t","after":"nobody"}}}`))
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != "invalid_definition" || len(refused.Errors) < 2 {
		t.Fatalf("got %v", err)
	}
}

func BenchmarkStartUntilDrained(b *testing.B) {
	cl := overKafka(b, doubling)
	ctx := b.Context()
	b.SetParallelism(256)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := cl.Start(ctx, "double", 1, client.StartOptions{Wait: client.UntilDrained}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "workflows/s")
}
