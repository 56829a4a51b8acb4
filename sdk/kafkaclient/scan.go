package kafkaclient

import (
	"encoding/json"
	"slices"

	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/scan"
)

// endForm reads the end of a workflow as encoding/json would, in one pass.
var endForm = request.Form[*client.Workflow, map[string]json.RawMessage]{Workflow: scanWorkflow, Results: scanResults}

func scanWorkflow(s *scan.Scan) *client.Workflow {
	t := events.ScanStatus(s)
	if s.Strange() {
		return nil
	}
	w := &client.Workflow{
		ID: string(t.ID), Run: string(t.Run), Status: statusName(t.Status),
		Definition: client.DefinitionRef{Name: string(t.Name), Version: string(t.Version), Digest: string(t.Digest)},
		Partition:  t.Partition, Counts: client.Counts(t.Counts), Position: string(t.Position),
	}
	ok := w.CreatedAt.UnmarshalText(t.Created) == nil && w.UpdatedAt.UnmarshalText(t.Updated) == nil
	if t.Labels != nil {
		ok = ok && json.Unmarshal(t.Labels, &w.Labels) == nil
	}
	if string(t.Failure) != "null" {
		ok = ok && json.Unmarshal(t.Failure, &w.Failure) == nil
	}
	if t.ConditionErrors != nil {
		ok = ok && json.Unmarshal(t.ConditionErrors, &w.ConditionErrors) == nil
	}
	if t.Refusals != nil {
		ok = ok && json.Unmarshal(t.Refusals, &w.Refusals) == nil
	}
	if !ok {
		s.Fail()
	}
	return w
}

// statusName spares the copies of the usual ones.
func statusName(text []byte) client.Status {
	switch string(text) {
	case "idle":
		return client.StatusIdle
	case "completed":
		return client.StatusCompleted
	}
	return client.Status(text)
}

// scanResults takes an object; its values are parts of one copy, so that they do
// not keep what the reply came in.
func scanResults(s *scan.Scan) map[string]json.RawMessage {
	inner := scan.Of(slices.Clone(s.Value()))
	results := map[string]json.RawMessage{}
	inner.Object()
	for name, ok := inner.Member(); ok; name, ok = inner.Member() {
		results[string(name)] = inner.Value()
	}
	if !inner.Done() {
		s.Fail()
	}
	return results
}
