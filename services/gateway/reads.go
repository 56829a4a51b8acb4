package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/heddle-run/heddle/shared/events"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
)

// pageLimit reads ?limit=.
func pageLimit(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		return 0, refuseField("invalid_parameter", "limit", fmt.Sprintf("want 1 to %d", maxLimit))
	}
	return n, nil
}

// read asks the owning planner about the workflow of the path.
func (g *Gateway) read(r *http.Request, kind string) (json.RawMessage, error) {
	return g.query(r, events.Query{Kind: kind})
}

func (g *Gateway) query(r *http.Request, q events.Query) (json.RawMessage, error) {
	id, err := pathValue(r, "id")
	if err != nil {
		return nil, err
	}
	if err := events.CheckWorkflowID(id); err != nil {
		return nil, refuseField("invalid_workflow_id", "id", err.Error())
	}
	q.Workflow = id
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Answer)
	defer cancel()
	return g.requests.Read(ctx, q)
}

// readEntity asks an entity that is no workflow, and answers with what its planner says.
func (g *Gateway) readEntity(w http.ResponseWriter, r *http.Request, q events.Query) error {
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Answer)
	defer cancel()
	body, err := g.requests.Read(ctx, q)
	if err != nil {
		return err
	}
	writeBytes(w, r, http.StatusOK, "application/json", body)
	return nil
}

// reading answers with a planner's answer as it is.
func reading(kind string) func(*Gateway, http.ResponseWriter, *http.Request) error {
	return func(g *Gateway, w http.ResponseWriter, r *http.Request) error {
		body, err := g.read(r, kind)
		if err != nil {
			return err
		}
		writeBytes(w, r, http.StatusOK, "application/json", body)
		return nil
	}
}

// listing answers with one page of a planner's list.
func listing(kind string) func(*Gateway, http.ResponseWriter, *http.Request) error {
	return func(g *Gateway, w http.ResponseWriter, r *http.Request) error {
		page, err := g.page(r, kind)
		if err != nil {
			return err
		}
		return writeJSON(w, r, http.StatusOK, page)
	}
}

// listRunnables is listing, and tells whether anybody takes from the queues in which
// attempts wait.
func (g *Gateway) listRunnables(w http.ResponseWriter, r *http.Request) error {
	page, err := g.page(r, "runnables")
	if err != nil {
		return err
	}
	if err := g.explain(r.Context(), page.Items); err != nil {
		return err
	}
	return writeJSON(w, r, http.StatusOK, page)
}

// explainWorkflow answers why a workflow is where it is, and tells likewise.
func (g *Gateway) explainWorkflow(w http.ResponseWriter, r *http.Request) error {
	var why Explanation[json.RawMessage]
	if err := g.readPage(r, "explain", &why); err != nil {
		return err
	}
	if err := g.explain(r.Context(), why.Items); err != nil {
		return err
	}
	return writeJSON(w, r, http.StatusOK, why)
}

func (g *Gateway) page(r *http.Request, kind string) (List[json.RawMessage], error) {
	var page List[json.RawMessage]
	err := g.readPage(r, kind, &page)
	return page, err
}

// readPage reads one page of a planner's list into what has its shape.
func (g *Gateway) readPage(r *http.Request, kind string, into any) error {
	limit, err := pageLimit(r)
	if err != nil {
		return err
	}
	v := r.URL.Query()
	body, err := g.query(r, events.Query{Kind: kind, Cursor: v.Get("cursor"), Limit: uint32(limit), Filter: v.Get("status"), Component: v.Get("component")})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("decode %s: %w", kind, err)
	}
	return nil
}

// getWorkflow answers with the summary, at once or when the workflow has
// drained.
func (g *Gateway) getWorkflow(w http.ResponseWriter, r *http.Request) error {
	var body json.RawMessage
	var err error
	if text := r.URL.Query().Get("wait"); text != "" {
		body, err = g.await(r, text)
	} else {
		body, err = g.read(r, "workflow")
	}
	if err != nil {
		return err
	}
	owned, err := g.withOwner(body)
	if err != nil {
		return err
	}
	writeTagged(w, r, http.StatusOK, "application/json", owned, body)
	return nil
}

func (g *Gateway) await(r *http.Request, text string) (json.RawMessage, error) {
	wait, err := g.parseWaitTime(text)
	if err != nil {
		return nil, err
	}
	id, err := pathValue(r, "id")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	d, err := g.requests.Await(ctx, id)
	if errors.Is(err, context.DeadlineExceeded) && len(d.Workflow) > 0 {
		return d.Workflow, nil
	}
	return d.Workflow, err
}

func (g *Gateway) getResults(w http.ResponseWriter, r *http.Request) error {
	q := events.Query{Kind: "results"}
	switch r.URL.Query().Get("all") {
	case "", "false":
	case "true":
		q.All = true
	default:
		return refuseField("invalid_parameter", "all", "want true or false")
	}
	body, err := g.query(r, q)
	if err != nil {
		return err
	}
	writeBytes(w, r, http.StatusOK, "application/json", body)
	return nil
}
