package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// listWorkflows answers from the view.
func (g *Gateway) listWorkflows(w http.ResponseWriter, r *http.Request) error {
	f, err := g.parseFilter(r)
	if err != nil {
		return err
	}
	items, next, err := g.view.list(f)
	if err != nil {
		return err
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

func (g *Gateway) parseFilter(r *http.Request) (filter, error) {
	v := r.URL.Query()
	f := filter{status: v.Get("status"), labels: map[string]string{}}
	f.name, f.version, f.digest = splitReference(v.Get("definition"))
	for key, list := range v {
		if label, ok := strings.CutPrefix(key, "label."); ok {
			f.labels[label] = list[0]
		}
	}
	if known := events.Statuses(); f.status != "" && !slices.Contains(known, f.status) {
		return f, refuseField("invalid_parameter", "status", fmt.Sprintf("%q is none of %s", f.status, strings.Join(known, ", ")))
	}
	var err error
	if f.limit, err = pageLimit(r); err != nil {
		return f, err
	}
	if f.from, err = parsePlace(v.Get("cursor")); err != nil {
		return f, err
	}
	if text := v.Get("created_after"); text != "" {
		if f.after, err = time.Parse(time.RFC3339, text); err != nil {
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
