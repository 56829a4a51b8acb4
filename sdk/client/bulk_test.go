package client_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev/devtest"
	"github.com/heddle-run/heddle/sdk/client"
)

// broken fails however often it is retried.
const broken = `{"name":"broken","components":{"charge":{"step":"test.fail","params":{"n":99}},"ship":{"step":"test.fail","params":{"n":99}}}}`

// batch starts so many workflows and returns the filter of them, once the gateway lists them so.
func batch(t *testing.T, c *client.Client, def string, n int, status client.Status) client.Filter {
	t.Helper()
	labels := map[string]string{"batch": t.Name()}
	for i := range n {
		o := client.StartOptions{ID: fmt.Sprintf("%s-%d", t.Name(), i), Options: map[string]any{"labels": labels}}
		if _, err := c.Start(t.Context(), def, i, o); err != nil {
			t.Fatal(err)
		}
	}
	f := client.Filter{Labels: labels, Status: status}
	listed(t, c, f, n)
	return f
}

// listed waits until so many workflows fit whose work is done.
func listed(t *testing.T, c *client.Client, f client.Filter, n int) map[string]string {
	t.Helper()
	return listedAnew(t, c, f, n, nil)
}

// listedAnew is listed of workflows that have gone on since they were listed, each with the position as of which it
// is: the list may have them as of before that, with the same status.
func listedAnew(t *testing.T, c *client.Client, f client.Filter, n int, before map[string]string) map[string]string {
	t.Helper()
	f.Limit = 1000
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		page, err := c.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		settled, at := 0, map[string]string{}
		for _, w := range page.Items { // the list has the counts as of the last change of the status
			at[w.ID] = w.Position
			is, err := c.Get(t.Context(), w.ID)
			if errors.Is(err, client.ErrNotFound) {
				settled++ // it is listed for a moment yet
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if is.Status == w.Status && (is.Drained() || is.Status == client.StatusRunning) && w.Position != before[w.ID] {
				settled++
			}
		}
		if settled == n {
			return at
		}
		if time.Now().After(limit) {
			t.Fatalf("%d of %s are listed, want %d", settled, f, n)
		}
	}
}

func deployment(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	if o.URL == "" {
		o.URL = devtest.Running().URL
	}
	c, err := client.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// took runs an operation to its end, or until it has seen so many.
func took(ctx context.Context, c *client.Client, cmd client.BulkCommand, o client.BulkOptions, stop func(seen int)) (all []client.BulkResult, err error) {
	for r, failed := range c.Bulk(ctx, cmd, o) {
		if failed != nil {
			return append(all, r)[:len(all)], failed // r is behind the end, for who wants it
		}
		all = append(all, r)
		stop(len(all))
	}
	return all, nil
}

func onwards(int) {}

// times counts the events of a type in a workflow's history.
func times(t *testing.T, c *client.Client, id, event string) (n int) {
	t.Helper()
	page, err := c.History(t.Context(), id, client.PageOptions{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Items {
		if e.Type == event {
			n++
		}
	}
	return n
}

// An operation that is interrupted goes on behind what was done: each workflow is
// retried once, although all that were have failed again meanwhile. One that was killed, and knows its
// ID only, asks for all of them again, and planners do not do it twice.
func TestAnInterruptedOperationGoesOn(t *testing.T) {
	c := deployment(t, client.Options{})
	const n = 60
	f := batch(t, c, broken, n, client.StatusFailed)
	at := listed(t, c, f, n)
	o := client.BulkOptions{Operation: client.NewOperation(), Where: f}

	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	first, err := took(ctx, c, client.BulkRetry(client.RetryOptions{}), o, func(seen int) {
		if seen == 7 {
			interrupt()
		}
	})
	if !errors.Is(err, context.Canceled) || len(first) < 7 || len(first) == n {
		t.Fatalf("%d were retried, then %v", len(first), err)
	}
	if last := first[:len(first)+1][len(first)]; last.InHand != 0 {
		t.Errorf("%d are in hand, and all had time to end", last.InHand)
	}
	again := func(all []client.BulkResult) {
		t.Helper()
		of := map[string]string{}
		for _, r := range all {
			of[r.Workflow] = at[r.Workflow]
		}
		at = listedAnew(t, c, f, n, of)
	}
	again(first) // so all have failed again

	o.Where.Cursor = first[len(first)-1].Next
	second, err := took(t.Context(), c, client.BulkRetry(client.RetryOptions{}), o, onwards)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range append(first, second...) {
		if r.Outcome != client.BulkDone {
			t.Errorf("%+v", r)
		}
		ids = append(ids, r.Workflow)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != n || len(first)+len(second) != n {
		t.Errorf("%d and %d were told of, %d different ones, want %d", len(first), len(second), len(slices.Compact(ids)), n)
	}
	again(second)

	o.Where.Cursor = ""
	third, err := took(t.Context(), c, client.BulkRetry(client.RetryOptions{}), o, onwards)
	if err != nil || len(third) != n {
		t.Fatalf("the third run: %d, %v", len(third), err)
	}
	for i := range n {
		id := fmt.Sprintf("%s-%d", t.Name(), i)
		if got := times(t, c, id, "RunnableRetried"); got != 2 { // charge and ship
			t.Errorf("%s has %d retries of its two runnables", id, got)
		}
	}
}

// A skip in bulk gives up what has failed in each workflow, of one component or of all.
func TestASkipInBulkIsOfAllThatFailed(t *testing.T) {
	c := deployment(t, client.Options{})
	const n = 5
	f := batch(t, c, broken, n, client.StatusFailed)
	skip := func(component string, f client.Filter, want client.BulkOutcome) {
		t.Helper()
		all, err := took(t.Context(), c, client.BulkSkip(component, client.By{Who: "ann"}), client.BulkOptions{Where: f}, onwards)
		if err != nil || len(all) != n {
			t.Fatalf("%d, %v", len(all), err)
		}
		for _, r := range all {
			if r.Outcome != want || r.Err != nil {
				t.Errorf("skip of %q: %+v, want %s", component, r, want)
			}
		}
	}
	skip("mail", f, client.BulkUnchanged) // there is none
	skip("charge", f, client.BulkDone)
	listed(t, c, f, n) // ship has failed still
	skip("", f, client.BulkDone)
	f.Status = client.StatusIdle
	listed(t, c, f, n)
	skip("", f, client.BulkUnchanged)
}

func TestCancelAndDeleteInBulk(t *testing.T) {
	c := deployment(t, client.Options{})
	const n = 5
	f := batch(t, c, `{"name":"asks","components":{"ask":{"step":"human.ask","policy":{"execution_mode":"external"}}}}`, n, client.StatusRunning)
	run := func(cmd client.BulkCommand, status client.Status, want client.BulkOutcome) {
		t.Helper()
		f.Status = status
		listed(t, c, f, n)
		all, err := took(t.Context(), c, cmd, client.BulkOptions{Where: f}, onwards)
		if err != nil || len(all) != n {
			t.Fatalf("%d, %v", len(all), err)
		}
		for _, r := range all {
			if r.Outcome != want {
				t.Errorf("%+v, want %s", r, want)
			}
		}
	}
	run(client.BulkDelete(false, client.By{}), client.StatusRunning, client.BulkRefused)
	run(client.BulkCancel(client.By{Why: "closing"}), client.StatusRunning, client.BulkDone)
	run(client.BulkCancel(client.By{}), client.StatusCancelled, client.BulkUnchanged)
	run(client.BulkRetry(client.RetryOptions{}), client.StatusCancelled, client.BulkRefused)
	run(client.BulkDelete(false, client.By{}), client.StatusCancelled, client.BulkDone)
	f.Status = ""
	listed(t, c, f, 0)
}

// A gateway that has too much to do, or whose answer is lost, is asked again under
// the same ID; one that forbids the command ends the operation.
func TestABusyGatewayIsAskedAgain(t *testing.T) {
	c := deployment(t, client.Options{})
	const n = 6
	f := batch(t, c, broken, n, client.StatusFailed)
	var asked atomic.Int64
	busy := func(next client.Handler) client.Handler {
		return func(ctx context.Context, call *client.Call) error {
			switch asked.Add(1) % 3 {
			case 1:
				return &client.Error{Code: "too_many_requests", Status: 429, RetryAfter: time.Millisecond}
			case 2:
				err := next(ctx, call) // done, and nobody hears of it
				return cmp.Or[error](err, &client.Error{Code: "no_answer", Status: 503, RetryAfter: time.Millisecond})
			}
			return next(ctx, call)
		}
	}
	all, err := took(t.Context(), deployment(t, client.Options{Interceptors: []client.Interceptor{busy}}),
		client.BulkRetry(client.RetryOptions{}), client.BulkOptions{Where: f, Rate: 1000}, onwards)
	if err != nil || len(all) != n {
		t.Fatalf("%d, %v", len(all), err)
	}
	for _, r := range all {
		if got := times(t, c, r.Workflow, "RunnableRetried"); r.Outcome != client.BulkDone || got != 2 {
			t.Errorf("%+v: %d retries of two runnables", r, got)
		}
	}
	listed(t, c, f, n)
	forbids := func(next client.Handler) client.Handler {
		return func(ctx context.Context, call *client.Call) error {
			if call.Name == "retry" {
				return &client.Error{Code: "forbidden", Status: 403}
			}
			return next(ctx, call)
		}
	}
	all, err = took(t.Context(), deployment(t, client.Options{Interceptors: []client.Interceptor{forbids}}),
		client.BulkRetry(client.RetryOptions{}), client.BulkOptions{Where: f}, onwards)
	if len(all) != 0 || !errors.Is(err, &client.Error{Code: "forbidden"}) || all[:1][0].InHand == 0 {
		t.Errorf("%d, %v, %+v; want an end at once, with some in hand", len(all), err, all[:1])
	}
}

// A gateway that does not answer for longer than one has patience ends the operation.
func TestPatienceEnds(t *testing.T) {
	c := deployment(t, client.Options{URL: "http://127.0.0.1:1"})
	all, err := took(t.Context(), c, client.BulkCancel(client.By{}), client.BulkOptions{Patience: time.Nanosecond}, onwards)
	if len(all) != 0 || !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("%d, %v", len(all), err)
	}
}

func ExampleClient_Bulk() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "bulk-1")
	f := must(client.ParseFilter("status=running q=bulk-1"))
	for page := must(c.List(ctx, f)); len(page.Items) == 0; page = must(c.List(ctx, f)) {
		time.Sleep(10 * time.Millisecond)
	}
	for r, err := range c.Bulk(ctx, client.BulkCancel(client.By{Who: "ann"}), client.BulkOptions{Where: f, Rate: 100}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(r.Workflow, r.Outcome)
	}
	// Output: bulk-1 done
}

func ExampleBulkRetry() {
	again := client.BulkRetry(client.RetryOptions{Component: "charge"})
	fmt.Println(again)
	// Output: retry
}

func ExampleBulkCancel() {
	fmt.Println(client.BulkCancel(client.By{Who: "ann", Why: "the offer is over"}))
	// Output: cancel
}

func ExampleBulkSkip() {
	fmt.Println(client.BulkSkip("points", client.By{}))
	// Output: skip
}

func ExampleBulkDelete() {
	fmt.Println(client.BulkDelete(true, client.By{}))
	// Output: delete
}

func ExampleBulkCommand_String() {
	fmt.Println(client.BulkCancel(client.By{}).String())
	// Output: cancel
}

func ExampleNewOperation() {
	fmt.Println(strings.HasPrefix(client.NewOperation(), "op-"))
	// Output: true
}
