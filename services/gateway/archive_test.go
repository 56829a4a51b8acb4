package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/history"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/search"
)

// kept is an archive of one run of a and one of b. How runs are kept is not the gateway's to know.
type kept struct{ t *testing.T }

type unknown struct{ id string }

func (u unknown) Error() string                   { return "there is no " + u.id }
func (u unknown) Refusal() (code, message string) { return "not_found", u.Error() }

func (k kept) item(id string) json.RawMessage {
	s := summary(id, "completed")
	return json.RawMessage(s[:len(s)-1] + `,"archived":{"run":"1.2~abcd","entries":3,"over":true}}`)
}

func (k kept) List(_ context.Context, f search.Filter, cursor string, limit int) ([]json.RawMessage, string, int, error) {
	m, items := f.Matcher(), []json.RawMessage{}
	for _, id := range []string{"a", "b", "c"} {
		w := search.Workflow{ID: id, Status: "completed", Name: "double", Version: "1"}
		switch {
		case cursor == "x":
			return nil, "", 0, unknown{cursor}
		case id <= cursor || !m.Fits(&w):
		case len(items) == limit:
			return items, cursor, 0, nil
		default:
			items, cursor = append(items, k.item(id)), id
		}
	}
	return items, "", 0, nil
}

func (k kept) Show(_ context.Context, workflow, run string) (json.RawMessage, error) {
	if workflow != "a" {
		return nil, unknown{workflow}
	}
	return json.RawMessage(fmt.Sprintf(`{"workflow":%s,"results":{"a":4}}`, k.item("a"))), nil
}

func (k kept) History(_ context.Context, workflow, _ string, _ history.Cursor, _ int) (history.Page, error) {
	return history.Page{Items: []json.RawMessage{json.RawMessage(`{"position":"1.2","time":"2026-01-02T03:04:05.000Z","type":"WorkflowStarted"}`)}}, nil
}

func (k kept) Restore(_ context.Context, workflow, _ string) (*events.RunRestore, error) {
	return &events.RunRestore{Run: events.Position{Epoch: 1, Seq: 2}}, nil
}

func (k kept) Query(_ context.Context, _, _ string, q events.Query) (json.RawMessage, error) {
	return json.RawMessage(`{"items":[]}`), nil
}

func archived(t *testing.T) func(*gateway.Config) {
	return func(c *gateway.Config) { c.Archive = kept{t} }
}

// A list that is to have the archive goes on with it, without the runs that the deployment has still; what is archived says so.
func TestAListGoesOnWithTheArchive(t *testing.T) {
	r := start(t, historian, archived(t))
	r.statuses(t, r.row("a", "idle", "d", "x", 1, 2), r.row("b", "idle", "d", "x", 1, 2))
	r.awaitListed(t, "", "a", "b")
	var ids []string
	for cursor := ""; ; {
		a := r.ask(t, "GET", "/v1/workflows?archived=true&limit=1&cursor="+cursor, "")
		var page struct {
			Items []struct {
				ID       string
				Archived *struct{ Run string }
			}
			Next *string `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != 200 {
			t.Fatalf("%d %s: %v", a.status, a.body, err)
		}
		for _, i := range page.Items {
			if i.Archived != nil {
				i.ID += "/" + i.Archived.Run
			}
			ids = append(ids, i.ID)
		}
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	if got := strings.Join(ids, " "); got != "b a c/1.2~abcd" && got != "a b c/1.2~abcd" {
		t.Errorf("the list has %s", got)
	}
}

// A gateway without an archive says so.
func TestAGatewayWithoutAnArchiveSaysSo(t *testing.T) {
	r := start(t, planner)
	for _, path := range []string{"/v1/archive", "/v1/archive/a", "/v1/archive/a/history", "/v1/workflows?archived=true&cursor=archive"} {
		if a := r.ask(t, "GET", path, ""); a.status != 404 || a.code() != "no_archive" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
