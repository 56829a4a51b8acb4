package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// meddler asks what nobody should, beside the users: it brings about refusals,
// and what workflows of the plan never do.
type meddler struct {
	*caller
	wf string
	n  int
}

// meddle is a meddler's life.
func (w *world) meddle(ctx context.Context) {
	m := &meddler{caller: w.caller("meddler"), wf: fmt.Sprintf("odd-%d", w.o.Seed%7)}
	deeds := []func(context.Context) error{m.nothingThere, m.badStarts, m.external, m.skipped, m.stopped, m.closed, m.cursed, m.large, m.operate, m.adorned, m.huge, m.jinxed}
	if w.o.Seed%4 == 0 {
		deeds = []func(context.Context) error{m.refused, m.cursed, m.asksBadly, m.large, m.operate}
	}
	if w.o.Seed%3 == 0 {
		deeds = append(deeds, m.mortal)
	}
	for _, deed := range deeds {
		if err := deed(ctx); err != nil {
			if ctx.Err() == nil {
				w.fail("meddling: %w", err)
			}
			return
		}
	}
}

const (
	oddOne     = `{"name":"odd","components":{"a":{"step":"never","policy":{"execution_mode":"external","on_failure":"halt"}},"b":{"expr":"input + 1","after":"a"}}}`
	oddTwo     = `{"name":"odd","version":"2","context":{"defaults":{"more":1}},"components":{"a":{"step":"never","policy":{"execution_mode":"external","on_failure":"halt"}},"b":{"expr":"input + 1","after":"a"},"c":{"expr":"input","after":"b"}}}`
	wantingOne = `{"name":"wanting","context":{"required":["tenant"]},"components":{"a":{"expr":"context.tenant"}}}`
	anyOne     = `{"name":"any","components":{"a":{"expr":"input"}}}`
)

// do gives a command under an id of its own. What becomes of it depends on what
// has become of those before; the coverage of a run says that all of it occurs.
func (m *meddler) do(ctx context.Context, name string, body map[string]any) (events.Reply, error) {
	m.n++
	return m.command(ctx, name, m.wf, m.id(), body)
}

func (m *meddler) id() string { return fmt.Sprintf("odd-%d", m.n) }

// each gives commands without a body to speak of.
func (m *meddler) each(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := m.do(ctx, name, map[string]any{}); err != nil {
			return err
		}
	}
	return nil
}

func (m *meddler) nothingThere(ctx context.Context) error {
	if err := m.each(ctx, "pause", "resume", "stop", "cancel", "retry", "checkpoint", "set_policies", "delete"); err != nil {
		return err
	}
	if err := m.each(ctx, "explode"); err != nil {
		return err
	}
	if err := m.each(ctx, "skip", "complete", "fail", "heartbeat", "keep", "start", "input"); err != nil {
		return err
	}
	_, err := m.do(ctx, "input", map[string]any{"input": 1, "mode": "odd"})
	return err
}

func (m *meddler) badStarts(ctx context.Context) error {
	for _, definition := range []string{`"nobody-knows-it"`, `{"name":"x","components":{"a":{"expr":"input","after":"b"}}}`, wantingOne} {
		if _, err := m.do(ctx, "start", map[string]any{"definition": json.RawMessage(definition)}); err != nil {
			return err
		}
	}
	return nil
}

func (m *meddler) start(ctx context.Context, definition string) error {
	_, err := m.do(ctx, "start", map[string]any{"definition": json.RawMessage(definition), "input": 1})
	return err
}

// open is the one runnable of an odd workflow.
func (m *meddler) open(ctx context.Context) (id, token string, err error) {
	r, err := m.query(ctx, events.Query{Kind: "runnables", Workflow: m.wf, Limit: 10})
	var page struct {
		Items []struct{ ID, Token string }
	}
	if err == nil && r.Refusal == nil {
		err = json.Unmarshal(r.Body, &page)
	}
	if err != nil || len(page.Items) == 0 {
		return "r1", "", err
	}
	return page.Items[0].ID, page.Items[0].Token, nil
}

// external completes what waits for its client, badly at first.
func (m *meddler) external(ctx context.Context) error {
	if err := m.start(ctx, oddOne); err != nil {
		return err
	}
	if _, err := m.do(ctx, "start", map[string]any{"definition": json.RawMessage(oddOne)}); err != nil {
		return err
	}
	_, token, err := m.open(ctx)
	if err != nil {
		return err
	}
	kept, err := m.keeps(ctx, token)
	if err != nil {
		return err
	}
	steps := []struct {
		name string
		body map[string]any
	}{
		{"heartbeat", map[string]any{"token": token, "details": map[string]any{"half": "done"}}},
		{"fail", map[string]any{"token": token, "error": map[string]any{"type": "bad", "message": "no", "retryable": false}}},
		{"complete", map[string]any{"token": token, "result": 1}},
		{"pause", map[string]any{}},
		{"resume", map[string]any{}},
		{"set_policies", map[string]any{"policies": []any{map[string]any{"match": "default", "inherit": true, "priority": "high"}}, "by": "an operator"}},
		{"migrate", map[string]any{"definition": json.RawMessage(anyOne)}},
		{"migrate", map[string]any{"definition": json.RawMessage(oddTwo), "by": "an operator"}},
		{"migrate", map[string]any{"definition": json.RawMessage(oddTwo)}},
		{"retry", map[string]any{}},
		{"retry", map[string]any{}},
		{"migrate", map[string]any{"definition": json.RawMessage(oddOne)}},
		{"skip", map[string]any{"runnable": "r99"}},
	}
	for _, s := range steps {
		if _, err := m.do(ctx, s.name, s.body); err != nil {
			return err
		}
	}
	if _, token, err = m.open(ctx); err != nil || !kept {
		return err
	}
	return m.reads(ctx, token) // the attempt behind the retry, with another definition meanwhile
}

func (m *meddler) skipped(ctx context.Context) error {
	id, _, err := m.open(ctx)
	if err == nil {
		_, err = m.do(ctx, "skip", map[string]any{"runnable": id})
	}
	if err == nil {
		_, err = m.do(ctx, "delete", map[string]any{})
	}
	if err == nil { // another run is not open yet
		_, err = m.do(ctx, "input", map[string]any{"input": 2})
	}
	return err
}

func (m *meddler) stopped(ctx context.Context) error {
	if _, err := m.do(ctx, "stop", map[string]any{"drain": "1ms"}); err != nil {
		return err
	}
	for {
		r, err := m.query(ctx, events.Query{Kind: "workflow", Workflow: m.wf})
		if err != nil || r.Refusal != nil || !strings.Contains(string(r.Body), `"stopping"`) {
			break
		}
		if err := workload.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	_, err := m.do(ctx, "input", map[string]any{"input": 3})
	return err
}

func (m *meddler) closed(ctx context.Context) error {
	if _, err := m.do(ctx, "cancel", map[string]any{}); err != nil {
		return err
	}
	if _, err := m.do(ctx, "input", map[string]any{"input": 3}); err != nil {
		return err
	}
	_, err := m.do(ctx, "delete", map[string]any{})
	return err
}

// cursed meets a defect of the machine.
func (m *meddler) cursed(ctx context.Context) error {
	if err := m.start(ctx, anyOne); err != nil {
		return err
	}
	if _, err := m.do(ctx, "signal", map[string]any{"name": "nobody-waits"}); err != nil {
		return err
	}
	if _, err := m.do(ctx, "input", map[string]any{"input": curse}); err != nil {
		return err
	}
	large := curse + strings.Repeat("x", smallRecord-180) // with what is said about it, the dlq does not take it
	if _, err := m.do(ctx, "input", map[string]any{"input": large}); err != nil {
		return err
	}
	_, err := m.command(ctx, "input", m.wf, "odd-1", map[string]any{"input": 5})
	return err
}

// mortal gives an input at which the process ends that decides it, again and again,
// until it is dead-lettered.
func (m *meddler) mortal(ctx context.Context) error {
	m.wf += "-mortal"
	if err := m.start(ctx, anyOne); err != nil {
		return err
	}
	r, err := m.do(ctx, "input", map[string]any{"input": mortal})
	if err == nil && (r.Refusal == nil || r.Refusal.Code != "quarantined") {
		err = fmt.Errorf("a mortal input is answered by %+v", r)
	}
	return err
}

// large gives an input that is as large as a record may be.
func (m *meddler) large(ctx context.Context) error {
	_, err := m.do(ctx, "input", map[string]any{"input": strings.Repeat("x", smallRecord-1200)})
	return err
}

// operate commands partitions.
func (m *meddler) operate(ctx context.Context) error {
	p := kafka.PartitionFor([]byte(m.wf), m.w.plan.Partitions)
	for i, order := range []struct {
		name string
		body map[string]any
	}{
		{"mark_stale", map[string]any{"reason": "odd", "by": "an operator", "why": "odd"}},
		{"request_replay", map[string]any{"cursor": "commands@0", "by": "an operator", "why": "odd"}},
		{"request_replay", map[string]any{"cursor": "nowhere", "by": "an operator", "why": "odd"}},
		{"request_replay", map[string]any{"by": "an operator", "why": "odd"}},
		{"accept_loss", map[string]any{"log": "inbox", "from": 1 << 40, "to": 1<<40 + 1, "by": "an operator", "why": "a slip of the pen"}},
		{"checkpoint", map[string]any{"by": "an operator", "why": "odd"}},
		{"pause", map[string]any{"by": "an operator"}},
	} {
		if _, err := m.command(ctx, order.name, events.PartitionWorkflow(p), fmt.Sprintf("odd-order-%d", i), order.body); err != nil {
			return err
		}
	}
	if _, err := m.query(ctx, events.Query{Kind: "nonsense", Workflow: m.wf}); err != nil {
		return err
	}
	return m.removeDispatches(ctx, p)
}

// removeDispatches removes dispatch records of a partition that have ended, and tries to remove what cannot be.
func (m *meddler) removeDispatches(ctx context.Context, p int32) error {
	r, err := m.query(ctx, events.Query{Kind: events.DispatchesQuery, Workflow: events.PartitionWorkflow(p)})
	if err != nil {
		return err
	}
	var all []delivery.Record
	if err := json.Unmarshal(r.Body, &all); err != nil {
		return fmt.Errorf("dispatch records are told as %s: %w", r.Body, err)
	}
	ended, open := []string{}, []string{"none"}
	for i := range all {
		if id := all[i].RequestID; !all[i].Status.Ended() {
			open[0] = id
		} else if len(ended) < 3 {
			ended = append(ended, id)
		}
	}
	for i, ids := range [][]string{open, append(slices.Clone(ended), ended...), ended} {
		body := map[string]any{"ids": ids, "by": "an operator", "why": "odd"}
		if _, err := m.command(ctx, "remove_dispatch", events.PartitionWorkflow(p), fmt.Sprintf("odd-remove-%d", i), body); err != nil {
			return err
		}
	}
	return nil
}
