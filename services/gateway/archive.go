package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/history"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/search"
)

// Archive is where runs are kept outside Kafka. An error that has a Refusal is the client's to know.
type Archive interface {
	// List lists runs in the order of their workflows' IDs, behind a cursor; items are summaries with a field archived.
	// looked: the page ends because so many were looked at.
	List(ctx context.Context, f search.Filter, cursor string, limit int) (items []json.RawMessage, next string, looked int, err error)
	// Show is the summary of a workflow's run, as List has it, and its results; run: empty is the newest.
	Show(ctx context.Context, workflow, run string) (json.RawMessage, error)
	// History is one page of its events.
	History(ctx context.Context, workflow, run string, from history.Cursor, limit int) (history.Page, error)
	// Restore is what a planner needs to go on with it.
	Restore(ctx context.Context, workflow, run string) (*events.RunRestore, error)
	// Query answers a query as its planner would have.
	Query(ctx context.Context, workflow, run string, q events.Query) (json.RawMessage, error)
}

var (
	runParam      = param{"run", "which of the workflow's runs, as archived.run of a list has it; without it the newest"}
	archivedParam = param{"archived", "true: the archived runs come behind the workflows, in the order of their IDs; each has a field archived"}
)

// archivedCursor begins the cursors of the part of a list that is archived.
const archivedCursor = "archive"

func archiveRoutes() []route {
	one := func(path, name, about string, shape any, query []param, handle func(*Gateway, http.ResponseWriter, *http.Request) error) route {
		return route{method: "GET", path: "/v1/archive/{id}" + path, name: name, about: about, role: Read, query: append([]param{runParam}, query...),
			answers: []answer{{200, "as of its last record that is kept", shape, ""}}, handle: handle}
	}
	return []route{
		{method: "GET", path: "/v1/archive", name: "listArchive", role: Read,
			about: "The runs that are kept outside Kafka, by the IDs of their workflows. Where there is no archive it answers 404, no_archive.",
			query: append([]param{cursorParam, limitParam}, filterParams()...), answers: []answer{{200, "one page", List[ArchivedWorkflow]{}, ""}}, handle: (*Gateway).listArchive},
		one("", "getArchived", "An archived run: its summary and its results.", ArchivedRun{}, nil, (*Gateway).getArchived),
		one("/history", "getArchivedHistory", "The events of an archived run, oldest first.", List[HistoryItem]{}, []param{cursorParam, limitParam}, (*Gateway).getArchivedHistory),
		one("/runnables", "listArchivedRunnables", "The runnables of an archived run.", List[Runnable]{}, append([]param{{"status", "only of this status"}, {"component", "only of this component"}}, cursorParam, limitParam), archivedList("runnables")),
		{method: "POST", path: "/v1/archive/{id}/restore", name: "restoreArchived", role: Operate,
			about: "Gives an archived run back to the planners, where they have no workflow of its ID: one that lives goes on, and attempts that were open as of its last record that is kept are made again; one that is over can be read again.",
			body:  restoreBody{}, answers: []answer{{200, "the planner has it", Restored{}, ""}}, handle: (*Gateway).restoreArchived},
		one("/facts", "listArchivedFacts", "The facts of an archived run.", List[Fact]{}, []param{cursorParam, limitParam}, archivedList("facts")),
	}
}

// archive is the archive, or why there is none.
func (g *Gateway) archive() (Archive, error) {
	if g.cfg.Archive == nil {
		return nil, refuse("no_archive", "this gateway reads no archive: start it with --archive-store")
	}
	return g.cfg.Archive, nil
}

// archiveProblem is what an error of the archive is to a client.
func archiveProblem(err error) error {
	var told interface{ Refusal() (code, message string) }
	if errors.As(err, &told) {
		return refuse(told.Refusal())
	}
	return err
}

// listArchive lists archived runs alone.
func (g *Gateway) listArchive(w http.ResponseWriter, r *http.Request) error {
	f, err := parseFilter(r)
	if err != nil {
		return err
	}
	limit, err := pageLimit(r)
	if err != nil {
		return err
	}
	page, err := g.archived(r.Context(), f, r.URL.Query().Get("cursor"), limit, "")
	if err != nil {
		return err
	}
	return writeJSON(w, r, http.StatusOK, page)
}

// archived is one page of the archive, whose next cursor begins with a prefix.
func (g *Gateway) archived(ctx context.Context, f search.Filter, cursor string, limit int, prefix string) (page List[json.RawMessage], err error) {
	a, err := g.archive()
	if err != nil {
		return page, err
	}
	ctx, cancel := context.WithTimeout(ctx, g.limits.Answer)
	defer cancel()
	items, next, looked, err := a.List(ctx, f, cursor, limit)
	if err != nil {
		return page, archiveProblem(err)
	}
	page.Items, page.LookedAt = items, looked
	if next != "" {
		next = prefix + next
		page.Next = &next
	}
	return page, nil
}

// behindWorkflows is the page of a list of workflows that the archive goes on with: its runs, but those that the deployment has
// still.
func (g *Gateway) behindWorkflows(w http.ResponseWriter, r *http.Request, f search.Filter, cursor string, limit int) error {
	page, err := g.archived(r.Context(), f, strings.TrimPrefix(cursor, archivedCursor), limit, archivedCursor)
	if err != nil {
		return err
	}
	gone := make([]json.RawMessage, 0, len(page.Items))
	for _, item := range page.Items {
		var sum events.Summary
		if err := json.Unmarshal(item, &sum); err != nil {
			return err
		}
		there, err := g.view.Has(sum.ID, sum.Run)
		if err != nil {
			return listProblem(err)
		}
		if there {
			continue
		}
		if item, err = splice(item, "owner", nil); err != nil {
			return err
		}
		gone = append(gone, item)
	}
	page.Items = gone
	return writeJSON(w, r, http.StatusOK, page)
}

// archivedOf is the workflow of the path and the run that is asked for.
func (g *Gateway) archivedOf(r *http.Request) (a Archive, workflow, run string, err error) {
	if a, err = g.archive(); err != nil {
		return nil, "", "", err
	}
	if workflow, err = pathValue(r, "id"); err != nil {
		return nil, "", "", err
	}
	if err := events.CheckWorkflowID(workflow); err != nil {
		return nil, "", "", refuseField("invalid_workflow_id", "id", err.Error())
	}
	return a, workflow, r.URL.Query().Get(runParam.name), nil
}

func (g *Gateway) getArchived(w http.ResponseWriter, r *http.Request) error {
	a, workflow, run, err := g.archivedOf(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Wait)
	defer cancel()
	body, err := a.Show(ctx, workflow, run)
	if err != nil {
		return archiveProblem(err)
	}
	writeBytes(w, r, http.StatusOK, "application/json", body)
	return nil
}

func (g *Gateway) getArchivedHistory(w http.ResponseWriter, r *http.Request) error {
	a, workflow, run, err := g.archivedOf(r)
	if err != nil {
		return err
	}
	limit, err := pageLimit(r)
	if err != nil {
		return err
	}
	from, err := history.ParseCursor(r.URL.Query().Get("cursor"))
	if err != nil {
		return refuseField("invalid_parameter", "cursor", err.Error())
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Wait)
	defer cancel()
	page, err := a.History(ctx, workflow, run, from, limit)
	if err != nil {
		return archiveProblem(err)
	}
	return writeJSON(w, r, http.StatusOK, page)
}

// archivedList answers with one page of a list of an archived run.
func archivedList(kind string) func(*Gateway, http.ResponseWriter, *http.Request) error {
	return func(g *Gateway, w http.ResponseWriter, r *http.Request) error {
		a, workflow, run, err := g.archivedOf(r)
		if err != nil {
			return err
		}
		limit, err := pageLimit(r)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(r.Context(), g.limits.Wait)
		defer cancel()
		v := r.URL.Query()
		body, err := a.Query(ctx, workflow, run, events.Query{Kind: kind, Cursor: v.Get("cursor"), Limit: uint32(limit), Filter: v.Get("status"), Component: v.Get("component")})
		if err != nil {
			return archiveProblem(err)
		}
		var page List[json.RawMessage]
		if err := json.Unmarshal(body, &page); err != nil {
			return err
		}
		return writeJSON(w, r, http.StatusOK, page)
	}
}

// restoreBody is the body of a restoration.
type restoreBody struct {
	Run string `json:"run,omitempty"` // which of the workflow's runs; without it the newest
	events.By
}

// Restored is a run that a planner has again.
type Restored struct {
	Workflow json.RawMessage `json:"workflow"` // as it is now
	AsOf     string          `json:"as_of"`    // the position of its last record that was kept, in the journal that it was in
	Updated  string          `json:"updated_at"`
	Note     string          `json:"note"` // what that means
}

// restoredPause is how often it is looked whether the planner has it.
const restoredPause = 50 * time.Millisecond

// restoreArchived gives a run to its planner and waits until that has it.
func (g *Gateway) restoreArchived(w http.ResponseWriter, r *http.Request) error {
	a, workflow, _, err := g.archivedOf(r)
	if err != nil {
		return err
	}
	var body restoreBody
	raw, err := g.readObject(w, r, &body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return refuse("not_json", err.Error())
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Wait)
	defer cancel()
	if there, err := g.planned(ctx, workflow); err != nil || there != nil {
		if err == nil {
			err = refuse("already_started", "there is a workflow of this ID; an archived one takes no other's place")
		}
		return err
	}
	shown, err := a.Show(ctx, workflow, body.Run)
	if err != nil {
		return archiveProblem(err)
	}
	m, err := a.Restore(ctx, workflow, body.Run)
	if err != nil {
		return archiveProblem(err)
	}
	var was struct {
		Workflow struct {
			events.Summary
			Archived archivedAs `json:"archived"`
		} `json:"workflow"`
	}
	if err := json.Unmarshal(shown, &was); err != nil {
		return err
	}
	m.By = body.By
	rec := kafka.Keyed(g.names.Inbox(), []byte(workflow), events.EncodeInbox(m), kafka.InboxFormat...)
	if err := g.out.ProduceSync(ctx, rec).FirstErr(); err != nil {
		return err
	}
	now, err := g.restored(ctx, workflow, m)
	if err != nil {
		return err
	}
	answer := Restored{Workflow: now, AsOf: was.Workflow.Position.String(), Updated: was.Workflow.Updated.String(), Note: "it was over: all of it is there"}
	if !was.Workflow.Archived.Over {
		answer.Note = "it was not over: what happened behind this record is not in the archive, and attempts that were open then are made again, whatever has become of them"
	}
	return writeJSON(w, r, http.StatusOK, answer)
}

// planned is a workflow as its planner has it; nil: it has none.
func (g *Gateway) planned(ctx context.Context, workflow string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, g.limits.Answer)
	defer cancel()
	body, err := g.requests.Read(ctx, events.Query{Kind: "workflow", Workflow: workflow})
	var refused *request.RefusedError
	if errors.As(err, &refused) && refused.Reply.Refusal.Code == "not_found" {
		return nil, nil
	}
	return body, err
}

// restored waits until the planner has a workflow, which has to be what it was given: somebody else may have started or restored one of
// its ID in between. One that it does not take it passes over.
func (g *Gateway) restored(ctx context.Context, workflow string, m *events.RunRestore) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, g.limits.Answer)
	defer cancel()
	for {
		there, err := g.planned(ctx, workflow)
		if err != nil {
			return nil, err
		}
		if there != nil {
			first, err := g.firstEvent(ctx, there)
			if err != nil {
				return nil, err
			}
			if !begins(first, m) {
				return nil, refuse("already_started", "somebody else has started or restored a workflow of this ID meanwhile; an archived one takes no other's place")
			}
			return there, nil
		}
		pause(ctx, restoredPause)
		if ctx.Err() != nil {
			return nil, retry(refuse("no_answer", "the planner has not taken the run: it is of another version, or nobody owns its partition"), 5)
		}
	}
}

// firstEvent is what a workflow that a planner has begins with; nil: its beginning is gone.
func (g *Gateway) firstEvent(ctx context.Context, there json.RawMessage) (first events.Event, err error) {
	run, asOf, err := history.ParseRun(there)
	if err != nil {
		return nil, err
	}
	err = history.Read(ctx, g.cfg.Kafka, run, history.Cursor{}, asOf, func(i history.Item) bool { first = i.Event; return false })
	return first, err
}

// begins reports whether a run begins with what a planner was given to restore.
func begins(first events.Event, m *events.RunRestore) bool {
	e, ok := first.(*events.WorkflowRestored)
	return ok && e.Run == m.Run && e.By == m.By
}
