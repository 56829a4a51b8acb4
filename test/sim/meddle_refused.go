package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

const (
	strictOne = `{"name":"strict","input":{"schema":{"type":"integer"}},"components":{"a":{"expr":"input"}}}`
	costlyOne = `{"name":"costly","options":{"labels":{"l":{"$":"string(all(1..200, all(1..200, true)))"}}},"components":{"a":{"step":"t.inc"}}}`
)

// refused brings about the refusals that need a body of their own. Few seeds do,
// as each takes its time.
func (m *meddler) refused(ctx context.Context) error {
	odd := json.RawMessage(anyOne)
	for _, s := range []struct {
		name, workflow string
		body           map[string]any
	}{
		{"input", m.wf, map[string]any{"input": json.RawMessage(strings.Repeat("[", events.MaxDepth) + strings.Repeat("]", events.MaxDepth))}},
		{"pause", "_partition/odd", map[string]any{}},
		{"input", m.wf, map[string]any{"input": 1, "inputs": 2}},
		{"start", m.wf, map[string]any{"definition": odd, "options": map[string]any{"max_concurrency": "many"}}},
		{"start", m.wf, map[string]any{"definition": odd, "policies": []any{map[string]any{"odd": 1}}}},
		{"start", m.wf, map[string]any{"definition": json.RawMessage(strictOne), "input": "no number"}},
		{"start", m.wf, map[string]any{"definition": json.RawMessage(costlyOne), "input": 1}},
	} {
		m.n++
		r, err := m.command(ctx, s.name, s.workflow, m.id(), s.body)
		if err == nil && r.Refusal == nil {
			err = fmt.Errorf("a %s that is to be refused, number %d, is answered by %q", s.name, m.n, r.Result)
		}
		if err != nil {
			return err
		}
	}
	m.unreadable()
	return nil
}

// unreadable sends what nobody can read, or at the wrong place; nobody waits.
func (m *meddler) unreadable() {
	names, p := m.w.c.names, kafka.PartitionFor([]byte(m.wf), m.w.plan.Partitions)
	typ := func(name string) kgo.RecordHeader {
		return kafka.Header(events.HeaderType, []byte(events.CommandType(name)))
	}
	m.send(kafka.Keyed(names.Commands(), []byte(m.wf), []byte("{no json"), typ("pause")))
	m.send(kafka.Keyed(names.Inbox(), []byte(m.wf), []byte("{no message")))
	m.send(kafka.Placed(names.Commands(), (p+1)%m.w.plan.Partitions, []byte(events.PartitionWorkflow(p)), []byte("{}"), typ("checkpoint")))
}

// asksBadly asks of a workflow that is there what there is no answer to.
func (m *meddler) asksBadly(ctx context.Context) error {
	for _, kind := range []string{"nonsense", cursedQuery} {
		if _, err := m.query(ctx, events.Query{Kind: kind, Workflow: m.wf}); err != nil {
			return err
		}
	}
	return nil
}
