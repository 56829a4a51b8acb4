package gateway

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/services/gateway/view"
	"github.com/heddle-run/heddle/shared/search"
)

// listWorkflows answers from the view.
func (g *Gateway) listWorkflows(w http.ResponseWriter, r *http.Request) error {
	f, err := parseFilter(r)
	if err != nil {
		return err
	}
	limit, err := pageLimit(r)
	if err != nil {
		return err
	}
	too, err := archivedToo(r)
	if err != nil {
		return err
	}
	if cursor := r.URL.Query().Get("cursor"); too && strings.HasPrefix(cursor, archivedCursor) {
		return g.behindWorkflows(w, r, f, cursor, limit)
	}
	from, err := search.ParseCursor(r.URL.Query().Get("cursor"))
	if err != nil {
		return refuseField("invalid_parameter", "cursor", err.Error())
	}
	found, err := g.view.List(f, from, limit)
	if err != nil {
		return listProblem(err)
	}
	page := List[json.RawMessage]{Items: found.Items, LookedAt: found.LookedAt}
	for i, item := range page.Items {
		if page.Items[i], err = g.withOwner(item); err != nil {
			return err
		}
	}
	if found.Next != "" {
		page.Next = &found.Next
	} else if too {
		next := archivedCursor
		page.Next = &next
	}
	return writeJSON(w, r, http.StatusOK, page)
}

// archivedToo reads ?archived=.
func archivedToo(r *http.Request) (bool, error) {
	switch r.URL.Query().Get(archivedParam.name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, refuseField("invalid_parameter", archivedParam.name, "want true or false")
}

// listProblem is what an error of the view is to a client.
func listProblem(err error) error {
	if errors.Is(err, view.ErrRemade) {
		return retry(refuse("unavailable", "The list of workflows is being made again; single workflows are served. Repeat the request."), 5)
	}
	return err
}

// filterParams are the parameters of which a filter is made.
func filterParams() []param {
	var all []param
	for _, f := range search.Fields() {
		all = append(all, param{f.Name, f.About})
	}
	return all
}

// parseFilter reads all parameters but those of the page; the router has seen that there
// are no others, and none twice.
func parseFilter(r *http.Request) (search.Filter, error) {
	var terms []search.Term
	given := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name != cursorParam.name && name != limitParam.name && name != archivedParam.name {
			terms = append(terms, search.Term{Name: name, Value: given.Get(name)})
		}
	}
	f, err := search.New(terms, time.Now())
	if bad, ok := errors.AsType[*search.Error](err); ok {
		return f, refuseField("invalid_parameter", bad.Name, bad.Message)
	}
	return f, err
}
