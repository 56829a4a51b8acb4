package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// openRunnable is what a query of runnables answers of one.
type openRunnable struct {
	ID        string          `json:"id"`
	Component string          `json:"component"`
	Attempt   int             `json:"attempt"`
	Token     string          `json:"token"`
	Input     json.RawMessage `json:"input"`
}

// runnables asks for those of the workflow that have a status, if it has components that may have it.
func (u *user) runnables(ctx context.Context, status string, may func(*workload.Component) bool) ([]openRunnable, error) {
	if !slices.ContainsFunc(u.wf.Graph.Components, may) {
		return nil, nil
	}
	r, err := u.query(ctx, events.Query{Kind: "runnables", Workflow: u.wf.ID, Filter: status, Limit: 100})
	if err != nil {
		return nil, err
	}
	var page struct {
		Items []openRunnable `json:"items"`
	}
	if err := json.Unmarshal(r.Body, &page); err != nil {
		return nil, fmt.Errorf("the runnables of %s: %w", u.wf.ID, err)
	}
	return slices.DeleteFunc(page.Items, func(open openRunnable) bool {
		c := u.w.plan.Component(u.wf.ID, open.Component)
		return c == nil || !may(c)
	}), nil
}

// decide says what became of attempts whose workers have vanished: that they are done, that
// they have failed, or nothing but that another attempt is to be made.
func (u *user) decide(ctx context.Context, round int) error {
	list, err := u.runnables(ctx, "uncertain", func(c *workload.Component) bool { return c.Acts.Doubt != 0 })
	if err != nil {
		return err
	}
	for i, open := range list {
		c := u.w.plan.Component(u.wf.ID, open.Component)
		name, body := "retry", map[string]any{"runnables": []string{open.ID}}
		switch way := (i + round + open.Attempt) % 3; {
		case way != 1 && c.Acts.Falls == 0:
			name, body = "complete", map[string]any{"token": open.Token}
			if body["result"], err = c.ResultOf(open.Input); err != nil {
				return err
			}
		case way == 1 && c.Acts.Troubled:
			name, body = "fail", map[string]any{"token": open.Token, "error": map[string]any{"type": "temporary", "message": "it may work the next time"}}
		}
		key := fmt.Sprintf("decide-%s-%d-%d", open.ID, open.Attempt, round)
		if _, err := u.must(ctx, name, key, body, "attempt_closed", "nothing_to_retry"); err != nil {
			return err
		}
	}
	return nil
}
