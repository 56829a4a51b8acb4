package badinput

import (
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
)

// partitionCommand produces a command to a partition itself into a partition of
// the topic.
func (r *rig) partitionCommand(to, into int32, name, body string) events.Reply {
	r.Helper()
	r.n++
	reply := fmt.Sprintf("reply-%d", r.n)
	headers := append(asking(reply), kafka.Header(events.HeaderType, []byte(events.CommandType(name))))
	r.produce(kafka.Placed(r.names.Commands(), into, []byte(events.PartitionWorkflow(to)), []byte(body), headers...))
	return r.replyTo(reply)
}

func TestOtherContentUnderAUsedIDIsAConflict(t *testing.T) {
	r := start(t)
	id := r.idOn(0)
	first := r.command(id, "once", "start", `{"definition":`+good+`,"input":1}`)
	r.done(first)
	again := r.command(id, "once", "start", `{"definition":`+good+`,"input":1}`)
	r.done(again)
	if string(again.Body) != string(first.Body) {
		t.Errorf("the repetition is answered with %s, the first with %s", again.Body, first.Body)
	}
	r.refused(r.command(id, "once", "start", `{"definition":`+good+`,"input":2}`), "conflict", "")
	r.refused(r.command(id, "once", "pause", `{}`), "conflict", "")
	r.done(r.command(r.idOn(0), "once", "start", `{"definition":`+good+`}`)) // ids are a workflow's own
	over := func(body string) problem {
		return r.ask("POST", "/v1/workflows/"+id+"/inputs?wait=accepted", body, "Idempotency-Key", "key")
	}
	if p := over(`{"input":5}`); p.status >= 300 {
		t.Errorf("the input got %d %s", p.status, p.body)
	}
	if p := over(`{"input":5}`); p.status >= 300 {
		t.Errorf("the input, repeated, got %d %s", p.status, p.body)
	}
	r.isProblem(over(`{"input":6}`), 409, "conflict", "")
	if _, err := r.client.Run(id).Wait(r.ctx); err != nil {
		t.Fatal(err)
	}
	all, err := r.client.Productions(r.ctx, id)
	if err != nil || len(all["b"]) != 2 {
		t.Errorf("the workflow produced %s, %v; want two values: of its start and of one input", all["b"], err)
	}
	r.goesOn()
}

// TestCommandsOnTheWrongPartitionAreForwarded sends what a client with another
// partitioner sends: once to the wrong partition, with and without an id.
func TestCommandsOnTheWrongPartitionAreForwarded(t *testing.T) {
	r := start(t)
	for name, headers := range map[string]int{"with an id": 1, "without an id": 0} {
		t.Run(name, func(t *testing.T) {
			r := r.of(t)
			id := r.idOn(0)
			hs := append(asking(name), kafka.Header(events.HeaderType, []byte(events.CommandType("start"))))
			if headers > 0 {
				hs = append(hs, kafka.Header(events.HeaderID, []byte("mine")))
			}
			body := []byte(`{"definition":` + good + `,"input":1}`)
			r.produce(kafka.Placed(r.names.Commands(), 1, []byte(id), body, hs...))
			r.done(r.replyTo(name))
			if out, err := client.Result[int](r.ctx, r.client.Run(id), "b"); err != nil || out != 2 {
				t.Errorf("the forwarded workflow gives %d, %v", out, err)
			}
		})
	}
	token, err := events.ParseTokenText(r.waiting(r.idOn(0)))
	r.must(err)
	peeked, err := events.PeekToken(token)
	r.must(err)
	r.produce(kafka.Placed(r.names.Inbox(), 1, []byte(peeked.Workflow), events.EncodeInbox(&events.TaskOutcome{
		Token: token, Outcome: events.OutcomeCompleted, Result: []byte(`"forwarded"`),
	})))
	if out, err := client.Result[string](r.ctx, r.client.Run(peeked.Workflow), "a"); err != nil || out != "forwarded" {
		t.Errorf("the forwarded outcome gives %q, %v", out, err)
	}
	r.goesOn()
}
