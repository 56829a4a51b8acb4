package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/services/gateway/view"
	"github.com/heddle-run/heddle/shared/events"
)

// listWorkflows answers from the view.
func (g *Gateway) listWorkflows(w http.ResponseWriter, r *http.Request) error {
	f, err := g.parseFilter(r)
	if err != nil {
		return err
	}
	items, next, err := g.view.List(f)
	if err != nil {
		return listProblem(err)
	}
	page := List[json.RawMessage]{Items: items}
	for i := range items {
		if items[i], err = g.withOwner(items[i]); err != nil {
			return err
		}
	}
	if next != "" {
		page.Next = &next
	}
	return writeJSON(w, r, http.StatusOK, page)
}

// listProblem is what an error of the view is to a client.
func listProblem(err error) error {
	if errors.Is(err, view.ErrRemade) {
		return retry(refuse("unavailable", "The list of workflows is being made again; single workflows are served. Repeat the request."), 5)
	}
	return err
}

func (g *Gateway) parseFilter(r *http.Request) (view.Filter, error) {
	v := r.URL.Query()
	f := view.Filter{Status: v.Get("status"), Labels: map[string]string{}}
	f.Name, f.Version, f.Digest = splitReference(v.Get("definition"))
	for key, list := range v {
		if label, ok := strings.CutPrefix(key, "label."); ok {
			f.Labels[label] = list[0]
		}
	}
	if known := events.Statuses(); f.Status != "" && !slices.Contains(known, f.Status) {
		return f, refuseField("invalid_parameter", "status", fmt.Sprintf("%q is none of %s", f.Status, strings.Join(known, ", ")))
	}
	var err error
	if f.Limit, err = pageLimit(r); err != nil {
		return f, err
	}
	if f.From, err = view.ParseCursor(v.Get("cursor")); err != nil {
		return f, refuseField("invalid_parameter", "cursor", err.Error())
	}
	if text := v.Get("created_after"); text != "" {
		if f.After, err = time.Parse(time.RFC3339, text); err != nil {
			return f, refuseField("invalid_parameter", "created_after", "is not a time as 2026-01-02T03:04:05Z")
		}
	}
	return f, nil
}

// splitReference takes a name, name@version or digest apart.
func splitReference(ref string) (name, version, digest string) {
	if strings.HasPrefix(ref, "sha256:") {
		return "", "", ref
	}
	name, version, _ = strings.Cut(ref, "@")
	return name, version, ""
}
