package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// Pool reads what a pool is at, by a query of the kind events.PoolQuery: of a pool with shards it is their sum.
func (cl *Client) Pool(ctx context.Context, q events.Query) (json.RawMessage, error) {
	body, err := cl.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	var sum events.PoolState
	if err := json.Unmarshal(body, &sum); err != nil {
		return nil, fmt.Errorf("decode a pool: %w", err)
	}
	if sum.Shards == 0 {
		return body, nil
	}
	states, err := ofShards[*events.PoolState](ctx, cl, q, sum.Shards)
	if err != nil {
		return nil, err
	}
	there := false
	for _, one := range states {
		if one != nil {
			sum.Add(one)
			there = true
		}
	}
	if !there && sum.Empty() {
		return nil, &RefusedError{events.Reply{Refusal: &events.Refusal{
			Code: "not_found", Message: fmt.Sprintf("no runner has connected to the pool %q, and nothing waits for one", sum.Name),
		}}}
	}
	sum.Settle()
	return json.Marshal(&sum)
}

// ofShards are the answers of the shards of a pool, in their order; nil: a shard has no rows.
func ofShards[T any](ctx context.Context, cl *Client, q events.Query, shards int) ([]T, error) {
	pool, err := events.ParsePoolID(q.Workflow)
	if err != nil {
		return nil, err
	}
	names := events.Shards(pool, shards)
	all, errs := make([]T, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		q := q
		q.Workflow = events.PoolOf(name)
		wg.Go(func() {
			body, err := cl.Read(ctx, q)
			if refused, is := errors.AsType[*RefusedError](err); is && refused.Reply.Refusal.Code == "not_found" {
				return
			}
			if err == nil {
				err = json.Unmarshal(body, &all[i])
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return all, errors.Join(errs...)
}

// Shards is how many shards a pool has; 0: one, or it is itself a shard.
func (cl *Client) Shards(ctx context.Context, pool string) (int, error) {
	one, err := cl.runner(ctx, pool, "")
	return one.Shards, err
}

func (cl *Client) runner(ctx context.Context, pool, name string) (one events.PoolRunner, err error) {
	body, err := cl.Read(ctx, events.Query{Kind: events.RunnerQuery, Workflow: pool, Filter: name})
	if err == nil {
		err = json.Unmarshal(body, &one)
	}
	return one, err
}

// lookWait is how long it is asked which shard of a pool has a runner.
const lookWait = 2 * time.Second

// PoolOfRunner is the id of the shard of a pool that has a runner, by the runner's id or key; where none says that it has, it is the pool's own.
func (cl *Client) PoolOfRunner(ctx context.Context, pool, runner string) (string, error) {
	name, err := events.ParsePoolID(pool)
	if err != nil {
		return "", err
	}
	if shard := events.ShardOfRunner(name, runner); shard != "" && shard != name {
		return events.PoolOf(shard), nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	one, err := cl.runner(ctx, pool, runner)
	if errors.Is(err, context.DeadlineExceeded) {
		return pool, nil // who is to obey is not there, and obeys later
	}
	if err != nil || one.Runner != nil || one.Shards == 0 {
		return pool, err
	}
	all, err := ofShards[events.PoolRunner](ctx, cl, events.Query{Kind: events.RunnerQuery, Workflow: pool, Filter: runner}, one.Shards)
	if err != nil {
		return "", fmt.Errorf("asking which shard of the pool %s has the runner %s: %w", name, runner, err)
	}
	for _, r := range all {
		if r.Runner != nil {
			return events.PoolOf(r.Runner.Pool), nil
		}
	}
	return pool, nil
}
