package badinput

import (
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

func TestReportsThatCannotBeReadAreKept(t *testing.T) {
	r := start(t)
	for name, value := range map[string][]byte{
		"no bytes":       nil,
		"no message":     []byte("not protobuf"),
		"half a message": events.EncodeInbox(&events.TaskOutcome{Token: make([]byte, 40), Outcome: events.OutcomeCompleted})[:20],
	} {
		t.Run(name, func(t *testing.T) {
			r := r.of(t)
			k := r.produce(kafka.Keyed(r.names.Inbox(), []byte("w"), value))
			if l := r.letterOf(k); !strings.HasPrefix(l.Reason, "malformed: ") {
				t.Errorf("the dead letter says %q", l.Reason)
			}
		})
	}
	r.goesOn()
}

// An inbox record to what can be nobody's ID is kept, whatever it says: rows would stand under
// another ID than the one that the journal can keep.
func TestReportsToNobodyAreKept(t *testing.T) {
	r := start(t)
	notice := wire.Marshal(&events.Notice{Drain: 1, ID: "i", URL: "http://x", Body: []byte(`{}`)})
	for name, key := range map[string]string{
		"a notice to an ID that is not UTF-8": "notice:\xd3:w",
		"a notice to an ID with a zero byte":  "notice:1.2:w\x00",
		"a permit of a key that is not UTF-8": "key:resource/\xff",
		"a message to a workflow of no UTF-8": "w\xc3",
	} {
		t.Run(name, func(t *testing.T) {
			r := r.of(t)
			k := r.produce(kafka.Keyed(r.names.Inbox(), []byte(key), events.EncodeInbox(&events.EntityMessage{From: "w", Body: notice})))
			if l := r.letterOf(k); !strings.HasPrefix(l.Reason, "invalid_workflow_id: ") {
				t.Errorf("the dead letter says %q", l.Reason)
			}
		})
	}
	r.goesOn()
}

// waiting starts a workflow whose only attempt waits, and returns the attempt's
// token.
func (r *rig) waiting(id string) string {
	r.Helper()
	r.done(r.do(id, "start", `{"definition":{"name":"waits","components":{"a":{"step":"wait"}}},"input":1}`))
	token := ""
	r.await("the attempt", func() bool {
		token = r.tokens[id]
		return token != ""
	})
	return token
}

// TestForgedAndForeignTokensChangeNothing sends outcomes and completions with
// tokens that are not those of the open attempt; then its own ends it.
func TestForgedAndForeignTokensChangeNothing(t *testing.T) {
	r := start(t)
	id, other := r.idOn(0), r.idOn(1)
	token, foreign := r.waiting(id), r.waiting(other)
	sealed, err := events.ParseTokenText(token)
	r.must(err)
	peeked, err := events.PeekToken(sealed)
	r.must(err)
	next := peeked
	next.Attempt++
	bent := append([]byte(nil), sealed...)
	bent[0] ^= 1
	stranger, err := events.ParseTokenText(foreign)
	r.must(err)
	for name, forged := range map[string][]byte{
		"another key":      events.Key("some other secret").Seal(peeked),
		"a bent seal":      bent,
		"the next attempt": secret.Seal(next),
		"another workflow": stranger,
	} {
		t.Run(name, func(t *testing.T) {
			r := r.of(t)
			for _, m := range []events.InboxMessage{
				&events.TaskOutcome{Token: forged, Outcome: events.OutcomeCompleted, Result: []byte(`"forged"`)},
				&events.TaskNotified{Token: forged, Executor: "forger", Detached: true},
				&events.TaskHeartbeat{Token: forged, Details: []byte(`"forged"`)},
			} {
				r.produce(kafka.Keyed(r.names.Inbox(), []byte(id), events.EncodeInbox(m)))
			}
			text := events.TokenText(forged)
			for _, command := range []string{"complete", "heartbeat"} {
				body := map[string]string{"complete": `,"result":"forged"`}[command]
				r.refused(r.do(id, command, `{"token":"`+text+`"`+body+`}`), "attempt_closed", "")
			}
			r.refused(r.do(id, "fail", `{"token":"`+text+`","error":{"type":"forged"}}`), "attempt_closed", "")
		})
	}
	r.isProblem(r.ask("POST", "/v1/tasks/"+events.TokenText(bent)+"/complete", `{"result":1}`), 409, "attempt_closed", "")
	r.isProblem(r.ask("POST", "/v1/tasks/nonsense/complete", `{"result":1}`), 422, "invalid_field", "token")
	r.done(r.do(id, "complete", `{"token":"`+token+`","result":"own"}`))
	r.refused(r.do(id, "complete", `{"token":"`+token+`","result":"again"}`), "attempt_closed", "")
	if out, err := client.Result[string](r.ctx, r.client.Run(id), "a"); err != nil || out != "own" {
		t.Errorf("the result is %q, %v", out, err)
	}
	r.goesOn()
}

func TestReportsOfUnknownWorkflowsChangeNothing(t *testing.T) {
	r := start(t)
	id := r.idOn(0)
	token := secret.Seal(events.Token{Workflow: id, Run: events.RunID{Epoch: 1, Seq: 9}, Runnable: 1, Attempt: 1})
	r.produce(kafka.Keyed(r.names.Inbox(), []byte(id), events.EncodeInbox(&events.TaskOutcome{Token: token, Outcome: events.OutcomeCompleted})))
	r.refused(r.do(id, "complete", `{"token":"`+events.TokenText(token)+`","result":1}`), "not_found", "")
	r.isProblem(r.ask("POST", "/v1/tasks/"+events.TokenText(token)+"/complete", `{"result":1}`), 404, "not_found", "")
	r.goesOn()
}
