package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/heddle-run/heddle/internal/dev/devtest"
	"github.com/heddle-run/heddle/sdk/client"
)

func ExampleClient_Get() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "get-1")
	w := must(c.Get(ctx, "get-1"))
	fmt.Println(w.Status, w.Definition.Name, w.Counts.Active)
	// Output: running offer 1
}

func ExampleClient_Results() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "results-1")
	r := must(c.Results(ctx, "results-1")) // as of now
	fmt.Printf("%s %s %s\n", r.Status, r.Results["total"], r.Results["answer"])
	// Output: running 60 null
}

func ExampleClient_AllResults() {
	ctx, c := connect()
	defer c.Close()
	must(c.Start(ctx, double, 1, client.StartOptions{ID: "all-1"}))
	must(c.InputAndWait(ctx, "all-1", 2, client.InputOptions{}))
	fmt.Printf("%s\n", must(c.AllResults(ctx, "all-1")).Results["twice"])
	// Output: [2 4]
}

func ExampleClient_Productions() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "made-1")
	fmt.Printf("%s\n", must(c.Productions(ctx, "made-1"))["total"])
	// Output: [60]
}

func ExampleClient_Runnables() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "runnables-1")
	page := must(c.Runnables(ctx, "runnables-1", client.PageOptions{}))
	for _, r := range page.Items {
		fmt.Println(r.Component, r.Task, r.Status)
	}
	// Output: accept human.accept active
}

func ExampleClient_Explain() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "explained-1")
	why := must(c.Explain(ctx, "explained-1", client.PageOptions{}))
	for _, r := range why.Items {
		fmt.Printf("%s waits for %s\n", r.Component, r.WaitsFor)
	}
	// Output: accept waits for completion by its token: it is done from outside
}

func ExampleRun_Explain() {
	ctx, c := connect()
	defer c.Close()
	run := must(c.Start(ctx, double, 1, client.StartOptions{ID: "explained-2"}))
	must(run.Wait(ctx))
	why := must(run.Explain(ctx, client.PageOptions{}))
	fmt.Println(why.Status, why.Reasons)
	// Output: idle [everything has settled: it waits for inputs]
}

func ExampleClient_History() {
	ctx, c := connect()
	defer c.Close()
	must(c.Start(ctx, double, 1, client.StartOptions{ID: "history-1", Wait: client.UntilDrained}))
	for cursor := ""; ; {
		page := must(c.History(ctx, "history-1", client.PageOptions{Cursor: cursor, Limit: 2}))
		for _, e := range page.Items {
			fmt.Println(e.Type)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	// Output:
	// WorkflowStarted
	// InputAccepted
	// FactProduced
	// InputSettled
	// WorkflowIdle
}

func ExampleClient_Graph() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "graph-1")
	g := must(c.Graph(ctx, "graph-1", "mermaid"))
	fmt.Println(string(g[:12]))
	// Output: flowchart TD
}

func ExampleClient_List() {
	ctx, c := connect()
	defer c.Close()
	must(c.Start(ctx, double, 1, client.StartOptions{ID: "list-1", Options: map[string]any{"labels": map[string]string{"team": "blue"}}}))
	var page *client.Page[client.Workflow]
	for page == nil || len(page.Items) == 0 { // the list follows within moments
		page = must(c.List(ctx, client.Filter{Definition: "double", Labels: map[string]string{"team": "blue"}}))
	}
	fmt.Println(page.Items[0].ID)
	// Output: list-1
}

func ExampleClient_Definitions() {
	ctx, c := connect()
	defer c.Close()
	must(c.Define(ctx, "listed", []byte(`{"name": "listed", "version": "1", "components": {"a": {"expr": "input"}}}`)))
	for _, d := range must(c.Definitions(ctx, client.PageOptions{})).Items {
		if d.Name == "listed" {
			fmt.Println(d.Name, d.Version, d.AllOpen.Count)
		}
	}
	for _, v := range must(c.Versions(ctx, "listed")) {
		fmt.Println(v.Name, v.Version, v.Open.Count)
	}
	// Output:
	// listed 1 0
	// listed 1 0
}

func ExampleClient_Readiness() {
	ctx, c := connect()
	defer c.Close()
	r := must(c.Readiness(ctx))
	fmt.Println(len(r.Partitions))
	// Output: 2
}

func ExampleClient_Define() {
	ctx, c := connect()
	defer c.Close()
	d := must(c.Define(ctx, "offer", []byte(offer)))
	fmt.Println(d.Name)
	_, err := c.Define(ctx, "broken", []byte(`{"name": "broken", "components": {"a": {"expr": "input +"}}}`))
	var refused *client.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Code, refused.Path)
	}
	// Output:
	// offer
	// invalid_definition components.a.expr
}

func ExampleInterceptor() {
	logged := func(next client.Handler) client.Handler {
		return func(ctx context.Context, c *client.Call) error {
			err := next(ctx, c)
			fmt.Println(c.Name, c.Workflow, err)
			return err
		}
	}
	ctx := context.Background()
	c := must(client.New(ctx, client.Options{URL: devtest.Running().URL, Interceptors: []client.Interceptor{logged}}))
	defer c.Close()
	must(c.Start(ctx, double, 1, client.StartOptions{ID: "logged-1"}))
	must(c.Get(ctx, "logged-1"))
	// Output:
	// start logged-1 <nil>
	// workflow logged-1 <nil>
}

func ExampleClient_Versions() {
	ctx, c := connect()
	defer c.Close()
	must(c.Define(ctx, "twofold", []byte(`{"name": "twofold", "version": "1", "components": {"a": {"expr": "input"}}}`)))
	must(c.Define(ctx, "twofold", []byte(`{"name": "twofold", "version": "2", "components": {"a": {"expr": "input * 2"}}}`)))
	fmt.Println(len(must(c.Versions(ctx, "twofold"))))
	// Output: 2
}

func ExampleWorkflow_Drained() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "drained-1") // for a person
	fmt.Println(must(c.Get(ctx, "drained-1")).Drained())
	// Output: false
}

func ExampleConditionErrors_Total() {
	var none *client.ConditionErrors // as a workflow has it whose conditions could all be evaluated
	fmt.Println(none.Total(), (&client.ConditionErrors{Count: 2}).Total())
	// Output: 0 2
}

// An operator says that records which no planner has read are gone, and the partition goes on.
func ExampleClient_AcceptLoss() {
	ctx, c := connect()
	defer c.Close()
	goesOn, err := c.AcceptLoss(ctx, 3, client.Loss{Log: "inbox", From: 100, To: 140}, client.By{Who: "ann", Why: "the disk is gone"})
	fmt.Println(goesOn, err)
}

// The machine of the owner hangs, and nobody wants to wait until its lease is over.
func ExampleClient_ReleasePartition() {
	ctx, c := connect()
	defer c.Close()
	obeyed, err := c.ReleasePartition(ctx, 3, client.By{Who: "ann", Why: "its machine hangs"})
	fmt.Println(obeyed, err)
}

func ExampleClient_MarkPartitionStale() {
	ctx, c := connect()
	defer c.Close()
	obeyed, err := c.MarkPartitionStale(ctx, 3, client.By{Who: "ann", Why: "its disk is being looked at"})
	fmt.Println(obeyed, err)
}

// What no worker has, the oldest first.
func ExampleClient_Dispatches() {
	ctx, c := connect()
	defer c.Close()
	for _, d := range must(c.Dispatches(ctx, 3, client.DispatchFilter{Status: client.DispatchPending})) {
		fmt.Println(d.Target, d.Metadata.Workflow, d.CreatedAt)
	}
}

func ExampleClient_RemoveDispatches() {
	ctx, c := connect()
	defer c.Close()
	var ids []string
	for _, d := range must(c.Dispatches(ctx, 3, client.DispatchFilter{Status: client.DispatchFailed, Queue: "mail"})) {
		ids = append(ids, d.RequestID)
	}
	obeyed, err := c.RemoveDispatches(ctx, 3, ids, client.By{Who: "ann", Why: "they were looked at"})
	fmt.Println(obeyed, err)
}

// What the inbox has from offset 100 on is read again, and decided where it was not.
func ExampleClient_ReplayPartition() {
	ctx, c := connect()
	defer c.Close()
	obeyed, err := c.ReplayPartition(ctx, 3, "inbox@100", client.By{Who: "ann", Why: "the topic was restored"})
	fmt.Println(obeyed, err)
}

func ExampleClient_CheckpointPartition() {
	ctx, c := connect()
	defer c.Close()
	obeyed, err := c.CheckpointPartition(ctx, 3, client.By{Who: "ann", Why: "the machine is about to be replaced"})
	fmt.Println(obeyed, err)
}

// Any gateway knows where a workflow lives, also while no planner runs.
func ExampleClient_Lookup() {
	ctx, c := connect()
	defer c.Close()
	place := must(c.Lookup(ctx, "order-7"))
	fmt.Println(place.ID, place.Owner != nil)
	// Output: order-7 true
}

// Nobody takes from a queue whose oldest attempt waits for long.
func ExampleClient_Queues() {
	ctx, c := connect()
	defer c.Close()
	for _, q := range must(c.Queues(ctx)) {
		fmt.Printf("%s: %d wait, %d run\n", q.Name, q.Pending, q.Notified)
	}
}

func ExampleClient_Key() {
	ctx, c := connect()
	defer c.Close()
	k := must(c.Key(ctx, "prices")) // of a policy with concurrency: {key: "'prices'", limit: 10}
	fmt.Printf("%d of %d permits are held, and %d wait\n", k.Held, k.Limit, k.Queued)
}

func ExampleClient_Breaker() {
	ctx, c := connect()
	defer c.Close()
	k := must(c.Breaker(ctx, "bank")) // of a policy with circuit_breaker: {name: bank, failure_threshold: 5, reset_timeout: 30s}
	fmt.Printf("it is %s: %d failed in a row, %d wait\n", k.State, k.Failures, k.Queued)
}

func ExampleClient_RateKey() {
	ctx, c := connect()
	defer c.Close()
	k := must(c.RateKey(ctx, "prices")) // of a policy with rate_limit: {key: "'prices'", limit: 10, per: 1s}
	fmt.Printf("%d of %d permits were granted within %d ms, and %d wait\n", k.Held, k.Limit, k.PerMs, k.Queued)
}

func ExampleClient_Keys() {
	ctx, c := connect()
	defer c.Close()
	for f := (client.KeyFilter{}); ; {
		page := must(c.Keys(ctx, f))
		for _, k := range page.Items {
			fmt.Printf("%s %s: %d of %d permits, %d wait\n", k.Kind, k.Name, k.Held, k.Limit, k.Queued)
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return
		}
	}
}

func ExampleClient_Pools() {
	ctx, c := connect()
	defer c.Close()
	for _, p := range must(c.Pools(ctx, client.PageOptions{})).Items {
		fmt.Printf("%s: %d of %d slots are free, %d wait %s\n", p.Name, p.Free, p.Slots, p.Queued, p.Waits)
	}
}

func ExampleClient_Pool() {
	ctx, c := connect()
	defer c.Close()
	runnables := must(c.Runnables(ctx, "order-17", client.PageOptions{Component: "picture"}))
	p := must(c.Pool(ctx, "images", client.PoolOptions{Attempt: runnables.Items[0].Token}))
	if p.Asked != nil && p.Asked.Place > 0 {
		fmt.Printf("it is number %d of %d that wait\n", p.Asked.Place, p.Queued)
	}
}

func ExampleClient_Runners() {
	ctx, c := connect()
	defer c.Close()
	for _, r := range must(c.Runners(ctx, client.RunnerFilter{Pool: "images"})).Items {
		fmt.Printf("%s is %s, and uses %d of %d slots\n", r.Key, r.State, r.Used, r.Slots)
	}
}

// The runner with the key host-3 finishes what it has, and gets no more.
func ExampleClient_StopRunner() {
	ctx, c := connect()
	defer c.Close()
	obeyed, err := c.StopRunner(ctx, "images", "host-3", client.StopRunnerOptions{By: client.By{Who: "ann", Why: "the host is replaced"}})
	fmt.Println(obeyed, err)
}

// What is deleted by its age is in the archive still, where there is one.
func ExampleClient_Archive() {
	ctx, c := connect()
	defer c.Close()
	page := must(c.Archive(ctx, client.Filter{Status: client.StatusCompleted, Text: "acme"}))
	for _, w := range page.Items {
		fmt.Println(w.ID, w.Archived.Run)
	}
}

func ExampleClient_GetArchived() {
	ctx, c := connect()
	defer c.Close()
	_, err := c.GetArchived(ctx, "never-was", client.ArchivedOptions{})
	fmt.Println(errors.Is(err, client.ErrNotFound))
	// Output: true
}

func ExampleClient_ArchivedHistory() {
	ctx, c := connect()
	defer c.Close()
	page, err := c.ArchivedHistory(ctx, "order-7", client.ArchivedOptions{Limit: 10})
	if errors.Is(err, client.ErrNotFound) {
		return // it is not archived, or not yet
	}
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range page.Items {
		fmt.Println(e.Position, e.Type)
	}
}

func ExampleClient_Restore() {
	ctx, c := connect()
	defer c.Close()
	_, err := c.Restore(ctx, "never-was", client.RestoreOptions{By: "ann", Why: "the cluster was lost"})
	fmt.Println(errors.Is(err, client.ErrNotFound))
	// Output: true
}
