package reads

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// Page is one page of a history. Next is null on the last one.
type Page struct {
	Items []json.RawMessage `json:"items"`
	Next  *string           `json:"next_cursor"`
}

// ParseRun reads what a history needs out of a workflow's status: the run, and
// the position that the status is as of.
func ParseRun(status []byte) (Run, events.Position, error) {
	var s events.Status
	if err := json.Unmarshal(status, &s); err != nil {
		return Run{}, events.Position{}, fmt.Errorf("decode a status: %w", err)
	}
	created, err1 := time.Parse(time.RFC3339, s.CreatedAt)
	start, err2 := events.ParsePosition(s.Run)
	asOf, err3 := events.ParsePosition(s.Position)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return Run{}, events.Position{}, fmt.Errorf("decode the status of %s: %w", s.ID, err)
		}
	}
	return Run{Workflow: s.ID, Partition: s.Partition, Start: start, Created: created}, asOf, nil
}

// HistoryPage reads up to limit events of run behind from, as of a position.
func HistoryPage(ctx context.Context, cfg kafka.Config, run Run, names *Names, from Cursor, asOf events.Position, limit int) (Page, error) {
	page := Page{Items: []json.RawMessage{}}
	var last Cursor
	err := History(ctx, cfg, run, from, asOf, func(i Item) bool {
		if len(page.Items) == limit {
			next := last.String()
			page.Next = &next
			return false
		}
		page.Items = append(page.Items, names.Print(i.Cursor.Position, i.Time, i.Event))
		last = i.Cursor
		return true
	})
	return page, err
}
