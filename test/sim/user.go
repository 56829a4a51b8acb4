package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// user does what the client of one workflow does: it starts it, does its deeds,
// and brings it to rest.
type user struct {
	*caller
	wf      *workload.Workflow
	results workload.Results
	resumed int // times; the context says so, and what tasks are made of
}

// drive is the user's life.
func (u *user) drive(ctx context.Context) error {
	if err := workload.Pause(ctx, u.wf.Begin); err != nil {
		return err
	}
	for i, life := range u.wf.Lives {
		if err := u.live(ctx, i, life); err != nil {
			return fmt.Errorf("life %d: %w", i, err)
		}
	}
	if err := u.start(ctx, "start"); err != nil {
		return err
	}
	for i, d := range u.wf.More {
		if err := workload.Pause(ctx, d.After); err != nil {
			return err
		}
		if err := u.do(ctx, i, d); err != nil {
			return fmt.Errorf("deed %d: %w", i, err)
		}
	}
	return u.rest(ctx)
}

// must is a command that is obeyed, or refused with one of the codes.
func (u *user) must(ctx context.Context, name, key string, body any, codes ...string) (events.Reply, error) {
	r, err := u.command(ctx, name, u.wf.ID, u.wf.ID+"-"+key, body)
	if err == nil && r.Refusal != nil && !slices.Contains(codes, r.Refusal.Code) {
		err = &refusedError{name, r.Refusal.Code, fmt.Errorf("%s of %s is refused: %+v", name, u.wf.ID, *r.Refusal)}
	}
	return r, err
}

// refusedError is a refusal that must not be.
type refusedError struct {
	command, code string
	err           error
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

func (u *user) start(ctx context.Context, key string) error {
	definition := json.RawMessage(u.wf.Graph.Source())
	if u.wf.Named {
		definition = json.RawMessage(fmt.Sprintf("%q", u.wf.Graph.Name))
	}
	body := map[string]any{"definition": definition, "input": u.wf.Start, "context": u.given()}
	if u.wf.Run != nil {
		body["options"] = u.wf.Run
	}
	if lent := u.wf.Graph.Lent(); lent != nil {
		body["component_context"] = lent
	}
	give(body, u.wf.Rules)
	_, err := u.must(ctx, "start", key, body)
	if err != nil {
		return err
	}
	u.w.soon(2*u.wf.Begin, func(ctx context.Context) error { // the same again
		c := u.w.caller(fmt.Sprintf("%s-%s-again", u.wf.ID, key))
		_, err := c.command(ctx, "start", u.wf.ID, u.wf.ID+"-"+key, body)
		return err
	})
	return nil
}

// live is an earlier run under the same id, that is deleted in the middle.
func (u *user) live(ctx context.Context, number int, life time.Duration) error {
	if err := u.start(ctx, fmt.Sprintf("life-%d", number)); err != nil {
		return err
	}
	if err := workload.Pause(ctx, life); err != nil {
		return err
	}
	force := number%2 == 0
	if !force {
		if _, err := u.must(ctx, "cancel", fmt.Sprintf("cancel-%d", number), map[string]any{}, "closed"); err != nil {
			return err
		}
	}
	_, err := u.must(ctx, "delete", fmt.Sprintf("delete-%d", number), map[string]any{"force": force})
	return err
}

// again has the command of a deed sent a second time under its id, if the deed says so.
func (u *user) again(d workload.Deed, name, key string, body any) {
	if d.Again == 0 {
		return
	}
	u.w.soon(d.Again, func(ctx context.Context) error {
		_, err := u.w.caller(fmt.Sprintf("%s-%s-again", u.wf.ID, key)).command(ctx, name, u.wf.ID, u.wf.ID+"-"+key, body)
		return err
	})
}

func (u *user) do(ctx context.Context, i int, d workload.Deed) error {
	key := fmt.Sprintf("deed-%d", i)
	switch d.What {
	case workload.Feed:
		body := map[string]any{"input": d.Input}
		give(body, d.Rules)
		if d.Replace {
			body["mode"] = "replace"
		}
		u.again(d, "input", key, body)
		_, err := u.must(ctx, "input", key, body)
		return err
	case workload.Signal:
		body := map[string]any{"name": d.Signal, "key": d.Key(), "input": d.Input}
		if d.By != "" {
			body["by"] = d.By
		}
		u.again(d, "signal", key, body)
		_, err := u.must(ctx, "signal", key, body)
		return err
	case workload.Checkpoint:
		_, err := u.must(ctx, "checkpoint", key, map[string]any{})
		return err
	case workload.PauseAndResume:
		if _, err := u.must(ctx, "pause", key+"-pause", map[string]any{}, "invalid_state"); err != nil {
			return err
		}
		if err := workload.Pause(ctx, d.After); err != nil {
			return err
		}
	case workload.StopAndResume:
		body := map[string]any{}
		if !d.ByOption {
			body["drain"] = max(d.After, time.Millisecond).String()
		}
		if _, err := u.must(ctx, "stop", key+"-stop", body); err != nil {
			return err
		}
	}
	return u.resume(ctx, key, d.Rules)
}

// resume resumes a workflow that may still be draining or have failed.
func (u *user) resume(ctx context.Context, key string, rules workload.Rules) error {
	u.resumed++
	for n := 0; ; n++ {
		body := map[string]any{"context": u.given()}
		give(body, rules)
		r, err := u.must(ctx, "resume", fmt.Sprintf("%s-resume-%d", key, n), body, "stopped", "invalid_state", "closed")
		switch {
		case err != nil || r.Refusal == nil:
			return err
		case r.Refusal.Code == "invalid_state":
			return nil // it has failed: resting retries
		case r.Refusal.Code == "closed":
			return nil // an operator who looked behind a loss was faster, and it has ended since
		}
		if err := workload.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// give adds rules to what a command says, if there are any.
func give(body map[string]any, rules workload.Rules) {
	if said := rules.Said(); said != nil {
		body["policies"] = said
	}
}

// given is the context of the workflow. No result depends on it.
func (u *user) given() map[string]any { return map[string]any{workload.Given: u.resumed} }

// summary is what a query of a workflow answers.
type summary struct {
	Run    string        `json:"run"`
	Status string        `json:"status"`
	Counts events.Counts `json:"counts"`
}

// rest waits until the workflow is at rest; what failed is tried again.
func (u *user) rest(ctx context.Context) error {
	for n := 0; ; n++ {
		r, err := u.query(ctx, events.Query{Kind: "workflow", Workflow: u.wf.ID})
		if err != nil {
			return err
		}
		var s summary
		if err := json.Unmarshal(r.Body, &s); err != nil {
			return fmt.Errorf("the summary of %s is %q (%+v): %w", u.wf.ID, r.Body, r.Refusal, err)
		}
		switch s.Status {
		case "idle", "completed":
			return u.look(ctx, s)
		case "failed":
			if _, err := u.must(ctx, "retry", fmt.Sprintf("retry-%d", n), map[string]any{}, "nothing_to_retry"); err != nil {
				return err
			}
		case "paused":
			if err := u.resume(ctx, fmt.Sprintf("rest-%d", n), nil); err != nil {
				return err
			}
		}
		if err := u.complete(ctx, n); err != nil {
			return err
		}
		if err := u.decide(ctx, n); err != nil {
			return err
		}
		if err := workload.Pause(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
}

// look reads everything that a client can see of a workflow at rest.
func (u *user) look(ctx context.Context, s summary) error {
	u.results = workload.Results{Status: s.Status, Counts: s.Counts, Run: s.Run}
	var results struct {
		Results map[string]json.RawMessage `json:"results"`
	}
	var productions struct {
		Productions map[string][]json.RawMessage `json:"productions"`
	}
	for _, part := range []struct { // in one order: the seed decides it
		kind string
		into any
	}{{"results", &results}, {"productions", &productions}} {
		r, err := u.query(ctx, events.Query{Kind: part.kind, Workflow: u.wf.ID})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(r.Body, part.into); err != nil {
			return fmt.Errorf("the %s of %s: %w", part.kind, u.wf.ID, err)
		}
	}
	u.results.Outputs, u.results.Productions = results.Results, productions.Productions
	return nil
}

// complete completes, by their tokens, the attempts that wait for their client.
// The first attempt of each third runnable fails.
func (u *user) complete(ctx context.Context, round int) error {
	list, err := u.runnables(ctx, "active", func(c *workload.Component) bool { return c.Acts.External })
	if err != nil {
		return err
	}
	for i, open := range list {
		c := u.w.plan.Component(u.wf.ID, open.Component)
		name, body := "complete", map[string]any{"token": open.Token}
		key := fmt.Sprintf("%s-%d-%d", open.ID, open.Attempt, round)
		if i%3 == 0 && open.Attempt == 1 {
			name, body["error"] = "fail", map[string]any{"type": "temporary", "message": "it may work the next time"}
		} else if body["result"], err = c.Result(open.Input); err != nil {
			return err
		}
		if _, err := u.must(ctx, name, key, body, "attempt_closed"); err != nil {
			return err
		}
	}
	return nil
}
