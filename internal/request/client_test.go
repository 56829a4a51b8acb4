package request_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/shared/events"
)

func open(t *testing.T, c *brokertest.Cluster, max int) *request.Client {
	t.Helper()
	a, err := request.Open(t.Context(), request.Options{Kafka: c.Config, Source: "test", MaxWaiting: max})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestEachOfManyClientsGetsItsOwnReplies(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	requesttest.Start(t, c.Config, requesttest.Echo)
	ctx := within(t)
	var wg sync.WaitGroup
	for n := range 3 {
		a := open(t, c, 0)
		for i := range 50 {
			wg.Go(func() {
				id := fmt.Sprintf("w-%d-%d", n, i)
				call, err := a.Call(ctx, request.Command{Name: "start", Workflow: id, Body: []byte(`{"definition":"d"}`)}, true)
				if err != nil {
					t.Error(err)
					return
				}
				defer call.Close()
				r, err := call.Decided(ctx)
				if err != nil || r.Kind != events.ReplyDecided || r.Workflow != id {
					t.Errorf("%s: decided %+v, %v", id, r, err)
				}
				d, err := call.Drained(ctx, id)
				if err != nil || string(d.Workflow) != `{"id":"`+id+`"}` {
					t.Errorf("%s: drained %+v, %v", id, d, err)
				}
			})
		}
		t.Cleanup(func() {
			if n := a.Waiting(); n != 0 {
				t.Errorf("%d calls are still in the table", n)
			}
		})
	}
	wg.Wait()
}

func TestQueryIsAnswered(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	requesttest.Start(t, c.Config, requesttest.Echo)
	r, err := open(t, c, 0).Query(within(t), events.Query{Kind: "workflow", Workflow: "w"})
	if err != nil || r.Kind != events.ReplyAnswer || string(r.Body) != `{"kind":"workflow"}` {
		t.Fatalf("got %+v, %v", r, err)
	}
}

func TestDrainedLooksForItselfWhenNoReplyComes(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	requesttest.Start(t, c.Config, func(q requesttest.Request) []events.Reply {
		switch {
		case q.Command != nil:
			return []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone}}
		case q.Query.Kind == "workflow":
			return []events.Reply{requesttest.Answer(`{"id":"w","status":"idle"}`)}
		}
		return []events.Reply{requesttest.Answer(`{"status":"idle","results":{"out":7}}`)}
	})
	a := open(t, c, 0)
	call, err := a.Call(within(t), request.Command{Name: "start", Workflow: "w", ID: "k", Body: []byte(`{"definition":"d"}`)}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer call.Close()
	d, err := call.Drained(within(t), "w")
	if err != nil || string(d.Results) != `{"out":7}` {
		t.Fatalf("got %+v, %v", d, err)
	}
}

// atRest answers queries for a workflow whose work was done long ago.
func atRest(q *events.Query) events.Reply {
	if q.Kind == "workflow" {
		return requesttest.Answer(`{"id":"w","status":"idle"}`)
	}
	return requesttest.Answer(`{"status":"idle","results":{"out":7}}`)
}

// A refusal that comes before the answer to a look is the answer: the work that
// is found at rest is another command's.
func TestARefusalThatComesDuringALookIsHeeded(t *testing.T) {
	for name, id := range map[string]string{"an id of its own": "", "an id of the caller's": "k"} {
		t.Run(name, func(t *testing.T) {
			c := brokertest.Start(t, topics.Options{})
			var asked string
			requesttest.Start(t, c.Config, func(q requesttest.Request) []events.Reply {
				if q.Command != nil {
					asked = q.Command.ReplyTo.ID
					return nil
				}
				late := requesttest.Refuse("closed", "it takes no input any more", "")
				late.ID = asked
				return []events.Reply{late, atRest(q.Query)}
			})
			a := open(t, c, 0)
			call, err := a.CallEnd(within(t), request.Command{Name: "input", Workflow: "w", ID: id, Body: []byte(`{"input":1}`)})
			if err != nil {
				t.Fatal(err)
			}
			defer call.Close()
			d, err := call.Drained(within(t), "w")
			if refused, is := errors.AsType[*request.RefusedError](err); !is || refused.Reply.Refusal.Code != "closed" {
				t.Errorf("got %+v, %v; want the refusal", d, err)
			}
		})
	}
}

// The answer to a repeated command can be lost with the owner that gives it. A client that
// waits for the end asks again before it takes the end of other work for that of
// its own.
func TestALostAnswerToARepetitionIsAskedForAgain(t *testing.T) {
	for name, second := range map[string]events.Reply{
		"done":    {Kind: events.ReplyDecided, Result: events.ResultDone},
		"refused": requesttest.Refuse("closed", "it takes no input any more", ""),
	} {
		t.Run(name, func(t *testing.T) {
			c := brokertest.Start(t, topics.Options{})
			asked := 0 // the script runs in one goroutine
			requesttest.Start(t, c.Config, func(q requesttest.Request) []events.Reply {
				if q.Command == nil {
					return []events.Reply{atRest(q.Query)}
				}
				if asked++; asked == 1 {
					return nil
				}
				return []events.Reply{second}
			})
			a := open(t, c, 0)
			call, err := a.CallEnd(within(t), request.Command{Name: "input", Workflow: "w", ID: "k", Body: []byte(`{"input":1}`)})
			if err != nil {
				t.Fatal(err)
			}
			defer call.Close()
			d, err := call.Drained(within(t), "w")
			if _, refused := errors.AsType[*request.RefusedError](err); refused != (second.Refusal != nil) {
				t.Errorf("got %+v, %v", d, err)
			}
			if err == nil && string(d.Results) != `{"out":7}` {
				t.Errorf("the results are %s", d.Results)
			}
		})
	}
}

func TestFailedWorkflowRestsOnlyWhenNothingIsActiveOrInHand(t *testing.T) {
	for status, want := range map[string]bool{
		"running": false, "paused": false, "stopping": false, "idle": true, "stopped": true, "completed": true, "cancelled": true, "failed": true,
	} {
		if request.Rests(status, 0, false) != want {
			t.Errorf("%s rests: want %v", status, want)
		}
	}
	if request.Rests("failed", 1, false) {
		t.Error("failed with an active attempt rests")
	}
	if request.Rests("failed", 0, true) {
		t.Error("failed with a retry in hand rests")
	}
}

// What a planner says of a workflow that it is retrying in pieces is not taken for its end.
func TestAWorkflowThatIsBeingRetriedIsWaitedFor(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	looks := 0 // the script runs in one goroutine
	requesttest.Start(t, c.Config, func(q requesttest.Request) []events.Reply {
		if q.Query.Kind != "workflow" {
			return []events.Reply{requesttest.Answer(`{"status":"idle","results":{"out":7}}`)}
		}
		s := events.Summary{ID: "w", Status: "failed", InHand: true}
		if looks++; looks > 2 {
			s.Status, s.InHand = "idle", false
		}
		return []events.Reply{requesttest.Answer(string(events.EncodeSummary(&s)))}
	})
	d, err := open(t, c, 0).Await(within(t), "w")
	if err != nil || string(d.Results) != `{"out":7}` || looks != 3 {
		t.Fatalf("after %d looks: %+v, %v", looks, d, err)
	}
}

func TestWaitingIsBounded(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	a := open(t, c, 1)
	ctx := within(t)
	cmd := request.Command{Name: "pause", Workflow: "w", Body: []byte(`{}`)}
	call, err := a.Call(ctx, cmd, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Call(ctx, cmd, false); !errors.Is(err, request.ErrBusy) {
		t.Fatalf("got %v, want ErrBusy", err)
	}
	call.Close()
	if _, err := a.Call(ctx, cmd, false); err != nil {
		t.Fatalf("after a call was closed: %v", err)
	}
}

func TestNobodyAnswersEndsWithTheDeadline(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := open(t, c, 0).Query(ctx, events.Query{Kind: "workflow", Workflow: "w"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestSendToADeadBrokerIsUnavailable(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	a := open(t, c, 0)
	if err := c.Broker.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := a.Send(ctx, request.Command{Name: "pause", Workflow: "w", Body: []byte(`{}`)}); !errors.Is(err, request.ErrUnavailable) {
		t.Fatalf("got %v, want ErrUnavailable", err)
	}
}

func TestCloseEndsTheWaits(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	a := open(t, c, 0)
	call, err := a.Call(within(t), request.Command{Name: "pause", Workflow: "w", Body: []byte(`{}`)}, false)
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	if _, err := call.Next(within(t)); !errors.Is(err, request.ErrClosed) {
		t.Fatalf("got %v, want ErrClosed", err)
	}
}

func TestALostDecisionIsAskedForAgain(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	asked := map[string]int{} // by id; the script runs in one goroutine
	requesttest.Start(t, c.Config, func(q requesttest.Request) []events.Reply {
		if asked[q.Command.ID]++; asked[q.Command.ID] < 3 {
			return nil
		}
		return requesttest.Echo(q)
	})
	a, err := request.Open(t.Context(), request.Options{Kafka: c.Config, Source: "test", ResendAfter: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	for _, id := range []string{"", "the caller's"} {
		call, err := a.Call(within(t), request.Command{Name: "pause", Workflow: "w", ID: id, Body: []byte(`{}`)}, false)
		if err != nil {
			t.Fatal(err)
		}
		defer call.Close()
		if r, err := call.Decided(within(t)); err != nil || r.Result != events.ResultDone {
			t.Fatalf("decided: %+v, %v", r, err)
		}
	}
}

func TestAskEndTellsTheEndOrTheRefusal(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	requesttest.Start(t, c.Config, func(q requesttest.Request) []events.Reply {
		if to := q.Command.ReplyTo; !to.Wait || !to.End {
			t.Errorf("the command says %+v", to)
		}
		if q.Command.Workflow == "refused" {
			r := requesttest.Refuse("closed", `it says "result":"done" and ,"body":`, "")
			r.Body = []byte(`{"result":"done"}`)
			return []events.Reply{r}
		}
		return requesttest.Echo(q)
	})
	a := open(t, c, 0)
	for workflow, refused := range map[string]bool{"w": false, "refused": true} {
		call, err := a.CallEnd(within(t), request.Command{Name: "start", Workflow: workflow, Body: []byte(`{"definition":"d"}`)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = call.Drained(within(t), workflow)
		call.Close()
		if _, is := errors.AsType[*request.RefusedError](err); is != refused || !refused && err != nil {
			t.Errorf("%s: %v", workflow, err)
		}
	}
}
