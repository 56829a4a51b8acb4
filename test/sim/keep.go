package sim

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
)

// keeps lets the attempt of an odd workflow keep as many keys as it may, and tries another one. It reports whether they are kept.
func (m *meddler) keeps(ctx context.Context, token string) (bool, error) {
	all := make([]any, events.MaxKept)
	for i := range all {
		all[i] = map[string]any{"key": fmt.Sprintf("k%d", i), "value": 0}
	}
	first, err := m.do(ctx, "keep", map[string]any{"token": token, "put": all})
	if err != nil {
		return false, err
	}
	for _, change := range []map[string]any{
		{"put": []any{map[string]any{"key": "more", "value": 1}}}, {"delete": []string{"nobody's"}}, {"delete": []string{"k1"}, "put": []any{map[string]any{"key": "k2", "value": m.wf}}},
	} {
		change["token"] = token
		if _, err := m.do(ctx, "keep", change); err != nil {
			return false, err
		}
	}
	if first.Refusal != nil { // somebody has closed the attempt
		return false, nil
	}
	return true, m.reads(ctx, token)
}

// reads looks whether an attempt that is open has what is kept.
func (m *meddler) reads(ctx context.Context, token string) error {
	r, err := m.query(ctx, events.Query{Kind: events.KeptQuery, Workflow: m.wf, Token: token})
	if err != nil || r.Refusal != nil {
		return err
	}
	var a events.KeptAnswer
	if err := json.Unmarshal(r.Body, &a); err != nil {
		return fmt.Errorf("what is kept is told as %s: %w", r.Body, err)
	}
	if len(a.Entries) != events.MaxKept-1 {
		return fmt.Errorf("an attempt of %s keeps %d keys, and reads %d", m.wf, events.MaxKept-1, len(a.Entries))
	}
	for _, e := range a.Entries {
		if want := map[bool]string{false: "0", true: fmt.Sprintf("%q", m.wf)}[e.Key == "k2"]; string(e.Value) != want || e.Key == "k1" {
			return fmt.Errorf("an attempt of %s reads %s under the key %s", m.wf, e.Value, e.Key)
		}
	}
	return nil
}
