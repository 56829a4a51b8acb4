package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// other is a meddler with another workflow.
func (m *meddler) other(prefix string) *meddler {
	return &meddler{caller: m.caller, wf: fmt.Sprintf("%s%d", prefix, m.w.o.Seed%7)}
}

const (
	adornedOne = `{"name":"adorned","version":"2","options":{"labels":{"kind":"odd"}},"components":{
		"a":{"step":"never","policy":{"execution_mode":"external","on_failure":"halt"}},
		"b":{"expr":"input + 1","after":"a"}}}`
	hugeOne = `{"name":"huge","components":{
		"a":{"step":"never","input":"[input, input]","policy":{"on_lost":"fail","on_failure":"skip"}},
		"b":{"step":"never","input":"[input, input]","policy":{"on_lost":"fail","on_failure":"skip"}}}}`
	sleepingOne = `{"name":"sleeping","components":{"a":{"sleep_ms":50}}}`
)

// said is a command's body with everything that any command for a workflow may have.
func said(body map[string]any) map[string]any {
	body["by"], body["why"] = "somebody", "it is a test"
	return body
}

// adorned says with each command all that can be said with it.
func (m *meddler) adorned(ctx context.Context) error {
	a := m.other("adorned-")
	trace := kafka.Header(events.HeaderTrace, []byte("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
	defer func() { m.more = nil }()
	run := func(wait string, name string, body map[string]any) error {
		m.more = append(m.more[:0], trace)
		if wait != "" {
			m.more = append(m.more, kafka.Header(events.HeaderReplyWait, []byte(wait)))
		}
		if body["token"] == nil { // who has an attempt's token is known by it
			body = said(body)
		}
		_, err := a.do(ctx, name, body)
		return err
	}
	given := map[string]any{"off": 1}
	policies := []any{map[string]any{"match": map[string]any{"name": "a"}, "execution_mode": "external", "on_failure": "halt"}}
	start := map[string]any{
		"definition": json.RawMessage(adornedOne), "input": 1, "context": given, "policies": policies, "options": map[string]any{"max_concurrency": 3},
	}
	if err := run(events.WaitDrained, "start", start); err != nil {
		return err
	}
	if err := run("", "delete", map[string]any{"force": true}); err != nil { // a client that waits is told
		return err
	}
	if err := run("", "start", start); err != nil {
		return err
	}
	if err := run("", "input", map[string]any{"input": 2, "context": given, "policies": policies, "mode": "replace"}); err != nil {
		return err
	}
	id, token, err := a.open(ctx)
	if err != nil {
		return err
	}
	failure := map[string]any{"type": "bad", "message": "no", "retryable": false, "details": map[string]any{"half": "done"}}
	for _, s := range []struct {
		wait, name string
		body       map[string]any
	}{
		{"", "fail", map[string]any{"token": token, "error": failure}},
		{events.WaitEnd, "resume", map[string]any{}}, // refused: it is not paused
		{"", "retry", map[string]any{"runnable": id, "input": 7}},
		{"", "skip", map[string]any{"runnable": id}},
		{"", "pause", map[string]any{}},
		{"", "resume", map[string]any{"context": given, "policies": policies}},
		{"", "stop", map[string]any{"drain": "1ms"}},
		{"", "cancel", map[string]any{}},
		{"", "delete", map[string]any{}},
	} {
		if err := run(s.wait, s.name, s.body); err != nil {
			return err
		}
	}
	return nil
}

// huge makes tasks that fit no record.
func (m *meddler) huge(ctx context.Context) error {
	h := m.other("huge-")
	_, err := h.do(ctx, "start", map[string]any{"definition": json.RawMessage(hugeOne), "input": strings.Repeat("x", smallRecord/2)})
	return err
}

// jinxed meets a defect of the machine at a timer.
func (m *meddler) jinxed(ctx context.Context) error {
	j := m.other(jinxed)
	if err := j.start(ctx, sleepingOne); err != nil {
		return err
	}
	if err := workload.Pause(ctx, 300*time.Millisecond); err != nil {
		return err
	}
	_, err := j.do(ctx, "input", map[string]any{"input": 1})
	return err
}
