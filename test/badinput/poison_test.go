package badinput

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// cursed is the planner with defects: it panics wherever an input, or a
// workflow's id, asks for it.
type cursed struct{ machine.Machine }

func (c cursed) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	if in.Command != nil {
		if b, ok := in.Command.Body.(*events.FeedInput); ok && string(b.Input) == `"before"` {
			panic("cursed before it decides")
		}
	}
	if o, ok := in.Inbox.(*events.TaskOutcome); ok && string(o.Result) == `"outcome"` {
		panic("cursed outcome")
	}
	if in.Timer != nil && strings.HasPrefix(in.Workflow, "timer") {
		panic("cursed timer")
	}
	out := c.Machine.Decide(tx, at, now, in)
	if in.Command != nil {
		if b, ok := in.Command.Body.(*events.FeedInput); ok && string(b.Input) == `"after"` {
			panic("cursed after it decided")
		}
	}
	return out
}

func (c cursed) Query(tx *rows.Tx, now int64, q *events.Query) events.Reply {
	if q.Kind == "productions" {
		panic("cursed query")
	}
	return c.Machine.Query(tx, now, q)
}

func curse(cfg *plannerd.Config) {
	cfg.Machine = func(p int32, definitions func(string) ([]byte, bool)) machine.Machine {
		return cursed{planner.New(planner.Config{Key: secret, Partition: p, Definitions: definitions})}
	}
}

// TestPoisonIsQuarantined is law J6: the workflow is as it was before its
// poison, which is in the dlq, and goes on.
func TestPoisonIsQuarantined(t *testing.T) {
	r := start(t, curse)
	id := r.idOn(0)
	r.done(r.do(id, "start", `{"definition":{"name":"d","components":{"a":{"step":"echo"}}}}`))
	for _, poison := range []string{"before", "after"} {
		t.Run(poison, func(t *testing.T) {
			r := r.of(t)
			headers := append(asking(poison), kafka.Header(events.HeaderType, []byte(events.CommandType("input"))))
			k := r.produce(kafka.Keyed(r.names.Commands(), []byte(id), []byte(`{"input":"`+poison+`"}`), headers...))
			r.refused(r.replyTo(poison), "quarantined", "")
			if l := r.letterOf(k); !strings.HasPrefix(l.Reason, "quarantined: cursed") || l.Workflow != id {
				t.Errorf("the dead letter is %+v", l)
			}
			r.isProblem(r.ask("POST", "/v1/workflows/"+id+"/inputs?wait=accepted", `{"input":"`+poison+`"}`), 500, "quarantined", "")
		})
	}
	r.done(r.do(id, "input", `{"input":"good"}`))
	if out, err := client.Result[string](r.ctx, r.client.Run(id), "a"); err != nil || out != "good" {
		t.Errorf("after its poison the workflow gives %q, %v", out, err)
	}
	r.goesOn()
}

func TestAPoisonedReportIsKept(t *testing.T) {
	r := start(t, curse)
	id := r.idOn(0)
	token, err := events.ParseTokenText(r.waiting(id))
	r.must(err)
	k := r.produce(kafka.Keyed(r.names.Inbox(), []byte(id), events.EncodeInbox(&events.TaskOutcome{
		Token: token, Outcome: events.OutcomeCompleted, Result: []byte(`"outcome"`),
	})))
	if l := r.letterOf(k); l.Reason != "quarantined: cursed outcome" || l.Workflow != id {
		t.Errorf("the dead letter is %+v", l)
	}
	r.done(r.do(id, "complete", fmt.Sprintf(`{"token":%q,"result":"good"}`, events.TokenText(token))))
	if out, err := client.Result[string](r.ctx, r.client.Run(id), "a"); err != nil || out != "good" {
		t.Errorf("after its poison the attempt gives %q, %v", out, err)
	}
	r.goesOn()
}

func TestAPoisonedTimerFiresOnce(t *testing.T) {
	r := start(t, curse)
	const id = "timer"
	r.done(r.do(id, "start", `{"definition":{"name":"d","components":{"a":{"sleep_ms":1}}},"input":1}`))
	var quarantined int
	for e, err := range r.client.Run(id).Events(r.ctx) {
		r.must(err)
		if e.Type == "WorkflowQuarantined" {
			quarantined++
			break
		}
	}
	r.done(r.do(id, "cancel", `{}`))
	page, err := r.client.History(r.ctx, id, client.PageOptions{})
	r.must(err)
	for _, e := range page.Items {
		if e.Type == "WorkflowQuarantined" {
			quarantined++
		}
	}
	if quarantined != 2 { // followed once, listed once
		t.Errorf("the history is %+v", page.Items)
	}
	r.goesOn()
}

func TestAPoisonedQueryIsAnswered(t *testing.T) {
	r := start(t, curse)
	id := r.idOn(0)
	r.done(r.do(id, "start", `{"definition":`+good+`}`))
	var refused *client.Error
	if _, err := r.client.Productions(r.ctx, id); !errors.As(err, &refused) || refused.Code != "internal_error" {
		t.Errorf("a query that meets a defect: %v", err)
	}
	r.isProblem(r.ask("GET", "/v1/workflows/"+id+"/productions", ""), 500, "internal_error", "")
	r.goesOn()
}
