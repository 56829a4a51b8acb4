package badinput

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
)

func TestBodiesOverTheLimitAreRefusedAtTheDoor(t *testing.T) {
	r := start(t)
	id := r.idOn(0)
	body := `{"definition":` + good + `,"context":{"much":` + string(text(2<<20)) + `}}`
	r.isProblem(r.ask("PUT", "/v1/workflows/"+id, body), 413, "too_large", "")
	r.isProblem(r.ask("PUT", "/v1/definitions/d", `{"name":"d","components":`+string(text(2<<20))+`}`), 413, "too_large", "")
	r.isProblem(r.ask("POST", "/v1/workflows/"+id+"/inputs", `{"input":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`), 400, "too_deep", "")
	big := kafka.Keyed(r.names.Commands(), []byte(id), random(3<<20))
	if err := r.producer.ProduceSync(r.ctx, big).FirstErr(); !kafka.IsTooLarge(err) {
		t.Errorf("a command of 3 MiB: %v", err)
	}
	r.refused(r.do(id, "pause", `{}`), "not_found", "")
	r.goesOn()
}

// random is bytes that no compression makes smaller.
func random(n int) []byte {
	b := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}

// many is a definition whose expressions make a value n times as large.
func many(n int, of string) string {
	components := map[string]any{"a": map[string]any{"step": of}}
	for i := range n {
		x := "x" + string(rune('a'+i))
		components[x] = map[string]any{"expr": "[input, input]", "after": "a"}
		components["end"+x] = map[string]any{"condition": "false", "after": x} // results show what is last
	}
	b, err := json.Marshal(map[string]any{"name": "many", "components": components})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestDecisionsThatFitNoRecordAreParted is law J4 for commands and outcomes.
func TestDecisionsThatFitNoRecordAreParted(t *testing.T) {
	r := start(t)
	inputs := `{"name":"wide","components":{"a":{"expr":"[input, input]"},"b":{"expr":"[input, input]"},"c":{"expr":"[input, input]"}}}`
	id := r.idOn(0)
	r.done(r.do(id, "start", `{"definition":`+inputs+`,"input":`+string(text(1<<20))+`}`))
	r.done(r.do(id, "input", `{"input":1}`))

	if w, err := r.run(many(2, "half")); err != nil || w.Status != "idle" || w.Counts.Completed != 1 || w.Counts.Failed > 0 {
		t.Errorf("a result that follows into much: %+v, %v", w, err)
	}
	w, err := r.run(strings.ReplaceAll(many(1, "half"), "[input, input]", "[input, input, input, input]"))
	if err != nil || w.Status != "failed" || w.Failure == nil || w.Failure.Error.Type != events.ErrorResultTooLarge {
		t.Errorf("a result that follows into a value that fits no record: %+v, %v", w, err)
	}
	r.goesOn()
}

// run starts a workflow on partition 1 and waits for its end.
func (r *rig) run(definition string) (*client.Workflow, error) {
	run, err := r.client.Start(r.ctx, definition, 1, client.StartOptions{ID: r.idOn(1), Wait: client.UntilDrained})
	if err != nil {
		return nil, err
	}
	return run.Wait(r.ctx)
}

// TestResultsThatFitNoRecordFailTheAttempt: of a worker, and by token.
func TestResultsThatFitNoRecordFailTheAttempt(t *testing.T) {
	r := start(t)
	w, err := r.run(`{"name":"huge","components":{"a":{"step":"huge"}}}`)
	if err != nil || w.Status != "failed" || w.Failure.Error.Type != events.ErrorResultTooLarge {
		t.Errorf("a huge result: %+v, %v", w, err)
	}
	r.goesOn()
}

// TestTasksThatFitNoRecordFailTheAttempt is law J4 for effects: a task that the
// queue's topic refuses for good can never be delivered.
func TestTasksThatFitNoRecordFailTheAttempt(t *testing.T) {
	r := start(t)
	w, err := r.run(`{"name":"join","components":{"a":{"step":"half"},"b":{"step":"half"},"c":{"step":"echo","after":["a","b"],"policy":{"on_lost":"fail"}}}}`)
	if err != nil || w.Status != "failed" || w.Failure.Component != "c" {
		t.Fatalf("a task that is too large: %+v, %v", w, err)
	}
	if e := w.Failure.Error; !strings.Contains(e.Message, "cannot be delivered") {
		t.Errorf("the failure says %+v", e)
	}
	r.goesOn()
}

// TestAnswersThatFitNoRecordAreRefused: a client that reads too much is told so.
func TestAnswersThatFitNoRecordAreRefused(t *testing.T) {
	r := start(t)
	id := r.idOn(0)
	r.done(r.do(id, "start", `{"definition":{"name":"d","components":{"a":{"expr":"input"}}}}`))
	for range 4 {
		r.done(r.do(id, "input", `{"input":`+string(text(1500<<10))+`}`))
	}
	var refused *client.Error
	if _, err := r.client.Productions(r.ctx, id); !errors.As(err, &refused) || refused.Code != "too_large" {
		t.Errorf("reading 6 MB over Kafka: %v", err)
	}
	r.isProblem(r.ask("GET", "/v1/workflows/"+id+"/productions", ""), 413, "too_large", "")
	if p := r.ask("GET", "/v1/workflows/"+id+"/results", ""); p.status != 200 {
		t.Errorf("what fits is answered with %d %.200s", p.status, p.body)
	}
	r.goesOn()
}
