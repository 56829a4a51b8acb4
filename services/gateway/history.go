package gateway

import (
	"context"
	"net/http"

	"github.com/heddle-run/heddle/internal/history"
	"github.com/heddle-run/heddle/shared/events"
)

// subject is a run whose history is read.
type subject struct {
	run   history.Run
	asOf  events.Position
	names *history.Names
}

// subject asks the planner what reading the history needs: where the run begins
// and what its components are called.
func (g *Gateway) subject(r *http.Request) (subject, error) {
	status, err := g.read(r, "workflow")
	if err != nil {
		return subject{}, err
	}
	var s subject
	if s.run, s.asOf, err = history.ParseRun(status); err != nil {
		return s, err
	}
	body, err := g.read(r, "graph")
	if err != nil {
		return s, err
	}
	graph, err := history.ParseGraph(body)
	if err != nil {
		return s, err
	}
	s.names = history.NewNames(graph.Components())
	return s, nil
}

// getHistory answers with one page of the events, as of now.
func (g *Gateway) getHistory(w http.ResponseWriter, r *http.Request) error {
	limit, err := pageLimit(r)
	if err != nil {
		return err
	}
	from, err := history.ParseCursor(r.URL.Query().Get("cursor"))
	if err != nil {
		return refuseField("invalid_parameter", "cursor", err.Error())
	}
	s, err := g.subject(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Wait)
	defer cancel()
	page, err := history.ReadPage(ctx, g.cfg.Kafka, s.run, s.names, from, s.asOf, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, r, http.StatusOK, page)
}
