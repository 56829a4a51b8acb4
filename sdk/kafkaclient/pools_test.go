package kafkaclient_test

import (
	"errors"
	"testing"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
)

const pictures = `
name: pictures
components:
  small: {step: test.echo, policy: {executor: pool:images}}
`

// connects says, as an executor does, that a runner with one slot has connected to the pool images.
func (d deployment) connects(t *testing.T, key string) {
	t.Helper()
	cl, err := kafka.NewEffectsProducer(d.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	report := events.EncodeInbox(&events.RunnerReport{
		Connection: events.Connection{Executor: "x", Number: 1}, Hello: &events.RunnerHello{Key: key, Name: "host", Version: 3, Slots: 1, Instance: "i"},
	})
	if err := cl.ProduceSync(within(t), kafka.Keyed(d.Topics.Inbox(), []byte("pool:images"), report)).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// Over HTTP and over Kafka a pool is the same, and so is what an operator may do with it.
func TestBothWaysShowAPool(t *testing.T) {
	d := deploy(t)
	ctx := within(t)
	if _, err := d.http.Define(ctx, "pictures", []byte(pictures)); err != nil {
		t.Fatal(err)
	}
	var second string
	for _, id := range []string{"first", "second"} {
		if _, err := d.http.Start(ctx, "pictures", 1, client.StartOptions{ID: id}); err != nil {
			t.Fatal(err)
		}
		open, err := d.http.Runnables(ctx, id, client.PageOptions{Status: "active"})
		if err != nil || len(open.Items) != 1 || open.Items[0].Token == "" {
			t.Fatalf("%+v, %v", open, err)
		}
		second = open.Items[0].Token
	}
	for name, cl := range map[string]*client.Client{"kafka": d.kafka, "http": d.http} {
		for p := (&client.Pool{}); p.Queued != 2; { // the offers are on their way
			var err error
			if p, err = cl.Pool(ctx, "images", client.PoolOptions{Attempt: second}); err != nil && !errors.Is(err, client.ErrNotFound) {
				t.Fatalf("%s: %v", name, err)
			} else if err != nil {
				p = &client.Pool{}
			} else if p.Queued == 2 && (p.Waits != "no runner is connected" || p.Asked == nil || p.Asked.Place != 2 || p.Asked.Workflow != "second" || len(p.Queue) != 2) {
				t.Errorf("%s: %+v, %+v", name, p, p.Asked)
			}
		}
	}
	d.connects(t, "host/1")
	for name, cl := range map[string]*client.Client{"kafka": d.kafka, "http": d.http} {
		for all := (&client.Page[client.Runner]{}); len(all.Items) == 0; {
			var err error
			if all, err = cl.Runners(ctx, client.RunnerFilter{Pool: "images", Limit: 1}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(all.Items) > 0 {
				if r := all.Items[0]; r.Key != "host/1" || r.Version != 3 || r.Used != 1 || len(r.Work) != 1 || r.Work[0].Workflow != "first" || r.JoinedTS == nil {
					t.Errorf("%s: %+v", name, r)
				}
			}
		}
	}
	if pools, err := d.http.Pools(ctx, client.PageOptions{}); err != nil || len(pools.Items) != 1 || pools.Items[0].Name != "images" || pools.Items[0].Running != 1 || pools.Items[0].Queued != 1 {
		t.Errorf("%+v, %v", pools, err)
	}
	for what, f := range map[string]func() error{
		"pools":   func() error { _, err := d.kafka.Pools(ctx, client.PageOptions{}); return err },
		"runners": func() error { _, err := d.kafka.Runners(ctx, client.RunnerFilter{}); return err },
	} {
		if err := f(); !errors.Is(err, client.ErrUnsupported) {
			t.Errorf("all %s over Kafka: %v", what, err)
		}
	}
	by := client.By{Who: "ann", Why: "the host is replaced"}
	if obeyed, err := d.kafka.StopRunner(ctx, "images", "host/1", client.StopRunnerOptions{By: by}); err != nil || !obeyed {
		t.Errorf("stop over Kafka: %t, %v", obeyed, err)
	}
	if _, err := d.http.StopRunner(ctx, "images", "host/1", client.StopRunnerOptions{By: by}); !errors.Is(err, &client.Error{Code: "invalid_state"}) {
		t.Errorf("stop what drains: %v", err)
	}
	if obeyed, err := d.http.StopRunner(ctx, "images", "host/1", client.StopRunnerOptions{Now: true, By: by}); err != nil || !obeyed {
		t.Errorf("stop at once over HTTP: %t, %v", obeyed, err)
	}
	if all, err := d.http.Runners(ctx, client.RunnerFilter{}); err != nil || len(all.Items) != 1 || all.Items[0].State != "stopped" || all.Items[0].Reason != "an operator stopped it at once" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := d.http.StopRunner(ctx, "images", "nobody", client.StopRunnerOptions{By: by}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("stop nobody: %v", err)
	}
}
