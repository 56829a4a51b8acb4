package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Archived says how a run is kept outside Kafka.
type Archived struct {
	Run     string `json:"run"`               // which of the workflow's runs it is, for ArchivedOptions.Run
	Entries uint64 `json:"entries"`           // records that are kept
	Over    bool   `json:"over"`              // nothing follows in it
	Deleted bool   `json:"deleted,omitempty"` // the deployment was known to have it no more
	Lacks   bool   `json:"lacks,omitempty"`   // its first records were in no journal any more when it was archived
	Why     string `json:"why,omitempty"`     // the summary is not what its planner would say
}

// ArchivedRun is a run that is kept outside Kafka.
type ArchivedRun struct {
	Workflow Workflow                   `json:"workflow"`
	Results  map[string]json.RawMessage `json:"results"` // nil where they are not known
}

// ArchivedOptions say which run of a workflow is meant, and which page of a list of it.
type ArchivedOptions struct {
	Run    string // Archived.Run, or its first part, EPOCH.SEQ; empty: the newest
	Cursor string // Next of the page before; empty: the first
	Limit  int    // 0: the default
}

// Archive lists the runs that are kept outside Kafka, by the IDs of their workflows: those that the filter chooses. Where the
// gateway has no archive the error is an *Error with the code no_archive. It is the gateway's: not over Kafka.
func (c *Client) Archive(ctx context.Context, f Filter) (*Page[Workflow], error) {
	raw, err := c.t.Query(ctx, Query{Kind: QueryArchive, Filter: &f, Cursor: f.Cursor, Limit: f.Limit})
	if err != nil {
		return nil, fmt.Errorf("list the archive: %w", err)
	}
	return decode[*Page[Workflow]]("the archive", raw)
}

// GetArchived is an archived run with its results.
func (c *Client) GetArchived(ctx context.Context, id string, o ArchivedOptions) (*ArchivedRun, error) {
	raw, err := c.t.Query(ctx, Query{Kind: QueryArchived, Workflow: id, Run: o.Run})
	if err != nil {
		return nil, fmt.Errorf("%s in the archive: %w", id, err)
	}
	return decode[*ArchivedRun](id+" in the archive", raw)
}

// ArchivedHistory is one page of the events of an archived run, oldest first.
func (c *Client) ArchivedHistory(ctx context.Context, id string, o ArchivedOptions) (*Page[Event], error) {
	raw, err := c.t.Query(ctx, Query{Kind: QueryArchivedHistory, Workflow: id, Run: o.Run, Cursor: o.Cursor, Limit: o.Limit})
	if err != nil {
		return nil, fmt.Errorf("history of %s in the archive: %w", id, err)
	}
	return decode[*Page[Event]]("history of "+id, raw)
}

// RestoreOptions say which run is restored, and who does it why.
type RestoreOptions struct {
	Run string // Archived.Run, or its first part, EPOCH.SEQ; empty: the newest
	By  string
	Why string
}

// Restored is a run that a planner has again.
type Restored struct {
	Workflow  Workflow  `json:"workflow"` // as it is now
	AsOf      string    `json:"as_of"`    // its last record that was kept, in the journal that it was in: EPOCH.SEQ
	UpdatedAt time.Time `json:"updated_at"`
	Note      string    `json:"note"` // what that means
}

// Restore gives an archived run back to the planners, where they have no workflow of its ID (else ErrAlreadyStarted). One that
// was not over goes on as of its last record that is kept: attempts that were open then are made again, under the
// idempotency keys that they had. It needs the role operate.
func (c *Client) Restore(ctx context.Context, id string, o RestoreOptions) (*Restored, error) {
	body, err := json.Marshal(map[string]string{"run": o.Run, "by": o.By, "why": o.Why})
	if err != nil {
		return nil, err
	}
	raw, err := c.t.Query(ctx, Query{Kind: QueryRestore, Workflow: id, Body: body})
	if err != nil {
		return nil, fmt.Errorf("restore %s: %w", id, err)
	}
	return decode[*Restored]("what was restored", raw)
}

// The kinds of queries that Archive, GetArchived, ArchivedHistory and Restore make.
const (
	QueryArchive         = "archive"
	QueryArchived        = "archived"
	QueryArchivedHistory = "archived_history"
	QueryRestore         = "restore"
)

// archiveRequest is the route of a query of the archive; false: it is none.
func archiveRequest(q Query) (r request, is bool) {
	r = request{method: http.MethodGet, path: path("v1", "archive", q.Workflow), query: url.Values{}}
	switch q.Kind {
	case QueryArchive:
		r.path = path("v1", "archive")
		for _, t := range q.Filter.search().Terms() {
			r.query.Set(t.Name, t.Value)
		}
	case QueryArchived:
	case QueryRestore:
		r.method, r.path, r.body = http.MethodPost, path("v1", "archive", q.Workflow, "restore"), q.Body
	case QueryArchivedHistory:
		r.path = path("v1", "archive", q.Workflow, "history")
	default:
		return r, false
	}
	if q.Run != "" {
		r.query.Set("run", q.Run)
	}
	setPage(r.query, q.Cursor, q.Limit)
	return r, true
}
