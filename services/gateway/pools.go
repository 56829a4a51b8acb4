package gateway

import (
	"context"
	"net/http"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

func poolRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/pools", name: "listPools", role: Read,
			about:   "The pools of runners that have runners, or work: how many runners are connected, lost and draining, how many slots there are and how many are free, how many attempts wait and run, and what they wait for, as of now. Each shard of a pool that has several is listed by its name. They are in the order of their partitions, and there of their names.",
			query:   []param{cursorParam, limitParam},
			answers: []answer{{200, "one page; it may end before it is full", List[events.PoolSummary]{}, ""}}, handle: (*Gateway).listPools},
		{method: "GET", path: "/v1/pools/{name}", name: "getPool", role: Read,
			about:   "What a pool is at: its runners, of many as many as fit an answer, the next 100 attempts of its queue, and what they wait for. Of a pool with shards it is the sum of them, and each place is one in the queue of a shard; a shard is asked for by its own name, as `images/3`.",
			query:   []param{{"attempt", "the token of an attempt: `asked` is its place in the queue then, or where it runs"}},
			answers: []answer{{200, "as of now", events.PoolState{}, ""}}, handle: (*Gateway).getPool},
		{method: "GET", path: "/v1/runners", name: "listRunners", role: Read,
			about:   "The runners of all pools, or of one: what each is at, and what it runs, as of now. They are in the order of their partitions, and there of their pools and of when they came. Runners that are over are listed for a while.",
			query:   []param{{"pool", "only those of a pool"}, cursorParam, limitParam},
			answers: []answer{{200, "one page; it may end before it is full", List[events.RunnerState]{}, ""}}, handle: (*Gateway).listRunners},
		{method: "POST", path: "/v1/pools/{name}/runners/{runner}/stop", name: "stopRunner", role: Operate,
			about: "Stops a runner, by its id or by the key that it connects with: it gets no more work, and ends once it has none, or its time to drain is over. With now, what it has is lost at once.",
			body:  stopRunnerBody{}, required: []string{"by", "why"}, answers: controlAnswers, handle: (*Gateway).stopRunner},
	}
}

func (g *Gateway) listPools(w http.ResponseWriter, r *http.Request) error {
	return g.listEntities(w, r, &entityList{
		what: "pools", query: events.Query{Kind: events.PoolsQuery, Workflow: events.PoolPrefix},
		known: func(after string) error { _, err := events.ParsePoolID(after); return err },
	})
}

func (g *Gateway) listRunners(w http.ResponseWriter, r *http.Request) error {
	l := entityList{
		what: "runners", query: events.Query{Kind: events.RunnersQuery, Workflow: events.PoolPrefix},
		known: func(after string) error { _, _, err := events.ParseRunnerCursor(after); return err },
	}
	if name := r.URL.Query().Get("pool"); name != "" {
		if err := events.CheckShardName(name); err != nil {
			return refuseField("invalid_parameter", "pool", err.Error())
		}
		l.query.Workflow = events.PoolOf(name)
		ctx, cancel := context.WithTimeout(r.Context(), g.limits.Answer)
		defer cancel()
		shards, err := g.requests.Shards(ctx, l.query.Workflow)
		if err != nil {
			return err
		}
		if shards == 0 { // else they may be in any partition
			p := kafka.PartitionFor([]byte(l.query.Workflow), g.follow.partitions)
			l.only = &p
		}
	}
	return g.listEntities(w, r, &l)
}

// poolOf is the id of the pool of the path.
func poolOf(r *http.Request) (string, error) {
	name, err := pathValue(r, "name")
	if err != nil {
		return "", err
	}
	if err := events.CheckShardName(name); err != nil {
		return "", refuseField("invalid_parameter", "name", err.Error())
	}
	return events.PoolOf(name), nil
}

// getPool asks the partition of a pool.
func (g *Gateway) getPool(w http.ResponseWriter, r *http.Request) error {
	id, err := poolOf(r)
	if err != nil {
		return err
	}
	token := r.URL.Query().Get("attempt")
	if token != "" {
		if _, err := events.ParseTokenText(token); err != nil {
			return refuseField("invalid_parameter", "attempt", "is not a task token")
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Answer)
	defer cancel()
	body, err := g.requests.Pool(ctx, events.Query{Kind: events.PoolQuery, Workflow: id, Filter: token})
	if err != nil {
		return err
	}
	writeBytes(w, r, http.StatusOK, "application/json", body)
	return nil
}

// stopRunner sends an operator's word to the pool of the path.
func (g *Gateway) stopRunner(w http.ResponseWriter, r *http.Request) error {
	id, err := poolOf(r)
	if err != nil {
		return err
	}
	runner, err := pathValue(r, "runner")
	if err != nil {
		return err
	}
	var body stopRunnerBody
	raw, err := g.readObject(w, r, &body)
	if err == nil {
		raw, err = splice(raw, "runner", runner)
	}
	if err != nil {
		return err
	}
	if bad := body.CheckGiven(); bad != nil {
		return refuseField(bad.Code, bad.Path, bad.Message)
	}
	to, err := g.requests.PoolOfRunner(r.Context(), id, runner)
	if err != nil {
		return err
	}
	return g.order(w, r, "stop_runner", to, raw, &body)
}
