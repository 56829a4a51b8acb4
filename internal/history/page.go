package history

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
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
	var s events.Summary
	if err := json.Unmarshal(status, &s); err != nil {
		return Run{}, events.Position{}, fmt.Errorf("decode the status of a workflow: %w", err)
	}
	if s.Run.IsZero() || s.Position.IsZero() {
		return Run{}, events.Position{}, fmt.Errorf("the status of %q has no run or no position", s.ID)
	}
	closed := s.Status == "completed" || s.Status == "cancelled"
	return Run{Workflow: s.ID, Partition: s.Partition, Start: s.Run, Created: time.UnixMilli(int64(s.Created)), Closed: closed}, s.Position, nil
}

// ReadPage reads up to limit events of run behind from, as of a position. The
// last input that changed nothing is told too where the history ends.
func ReadPage(ctx context.Context, cfg kafka.Config, run Run, names *Names, from Cursor, asOf events.Position, limit int) (Page, error) {
	p := pageInMaking{Page: Page{Items: []json.RawMessage{}}, names: names, limit: limit}
	err := readAll(ctx, cfg, run, from, asOf, p.take)
	if p.hidden != nil && p.Next == nil {
		p.Items = slices.Insert(p.Items, p.before, names.Print(*p.hidden))
	}
	return p.Page, err
}

// PageOf is a page of events of records that are at hand, as those of an archive: all of a run's from the one on whose
// number is the cursor's Offset. Items have that number where those of a journal have their offset.
func PageOf(records iter.Seq2[*events.Record, error], names *Names, from Cursor, limit int) (Page, error) {
	p := pageInMaking{Page: Page{Items: []json.RawMessage{}}, names: names, limit: limit}
	h := history{from: from, visit: p.take, without: from.WithoutEffect}
	at := from.Offset
	for rec, err := range records {
		if err != nil {
			return p.Page, err
		}
		if !h.emit(at, rec) {
			break
		}
		at++
	}
	if p.hidden != nil && p.Next == nil {
		p.Items = slices.Insert(p.Items, p.before, names.Print(*p.hidden))
	}
	return p.Page, nil
}

// pageInMaking is a page with the last event that it does not list.
type pageInMaking struct {
	Page
	names  *Names
	limit  int
	last   Cursor
	hidden *Item // nil: a later one is listed
	before int   // how many items stand before hidden
}

func (p *pageInMaking) take(i Item) bool {
	if !i.listed() {
		p.hidden, p.before = &i, len(p.Items)
		return true
	}
	if len(p.Items) == p.limit {
		next := p.last.String()
		p.Next = &next
		return false
	}
	if withoutEffect(i.Event) {
		p.hidden = nil
	}
	p.Items = append(p.Items, p.names.Print(i))
	p.last = i.Cursor
	return true
}
