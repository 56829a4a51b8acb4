package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	jsonv2 "github.com/go-json-experiment/json"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/search"
)

// MaxScanned bounds the rows that one request looks at: a rare label in a large
// deployment gives short pages with a cursor instead of slow ones.
const MaxScanned = 20_000

// Page is one page of a list, newest first.
type Page struct {
	Items    []json.RawMessage
	Next     string // the cursor of the next one; empty at the end
	LookedAt int    // how many rows, where the page ends because they are enough; else 0
}

// List is the page of the workflows that f chooses, at most limit, behind a place; nil is
// before all. While the view is made again there is none: it would lack workflows.
func (v *View) List(f search.Filter, from []byte, limit int) (Page, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.away || v.health.Err() != nil {
		return Page{}, ErrRemade
	}
	p, err := v.page(f, from, limit)
	if err != nil && v.health.Err() != nil {
		err = ErrRemade // this page has met it
	}
	return p, err
}

// page is one that is read from the store as it is.
func (v *View) page(f search.Filter, from []byte, limit int) (Page, error) {
	m := f.Matcher()
	prefix := narrowest(f.Status, m.Name())
	it, err := v.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: end(prefix)})
	if err != nil {
		return Page{}, fmt.Errorf("read the view: %w", err)
	}
	defer it.Close()
	p := Page{Items: []json.RawMessage{}}
	oldest := search.AppendPlace(nil, max(0, f.CreatedAfter.UnixMilli()), "")
	last, scanned := from, 0
	for ok := it.SeekGE(append(bytes.Clone(prefix), first(f.CreatedBefore, from)...)); ok; ok = it.Next() {
		at := it.Key()[len(prefix):]
		if !f.CreatedAfter.IsZero() && bytes.Compare(at, oldest) >= 0 {
			break // newest first: what follows is older
		}
		if len(p.Items) == limit || scanned == v.mostScanned {
			if p.Next = search.Cursor(last); len(p.Items) < limit {
				p.LookedAt = scanned
			}
			return p, nil
		}
		last, scanned = bytes.Clone(at), scanned+1
		status, fits, err := v.fitting(m, search.PlaceID(at))
		if err != nil {
			return Page{}, err
		}
		if fits {
			p.Items = append(p.Items, status)
		}
	}
	return p, it.Error()
}

// narrowest is the prefix of the narrowest index for what a filter wants.
func narrowest(status, name string) []byte {
	switch {
	case status != "":
		return appendPrefix(nil, byStatus, status)
	case name != "":
		return appendPrefix(nil, byDefinition, name)
	}
	return appendPrefix(nil, byTime, "")
}

// end is the first key after all of an index: its prefix ends with a zero byte.
func end(prefix []byte) []byte {
	b := bytes.Clone(prefix)
	b[len(b)-1] = 1
	return b
}

// first is the first possible place of what was created before a time, behind another
// place; neither counts where it is not given.
func first(before time.Time, behind []byte) []byte {
	var at []byte
	if len(behind) > 0 {
		at = append(bytes.Clone(behind), 0)
	}
	if !before.IsZero() {
		if newest := search.AppendPlace(nil, before.UnixMilli(), ""); bytes.Compare(newest, at) > 0 {
			at = newest // whose millisecond has some that are before it, where it is within
		}
	}
	return at
}

// fitting is the status of a workflow, and whether the filter chooses it.
func (v *View) fitting(m *search.Matcher, id []byte) (json.RawMessage, bool, error) {
	stored, err := v.get(appendRowKey(nil, id))
	if err != nil || stored == nil {
		return nil, false, err
	}
	r, status, err := storedRow(stored)
	w := search.Workflow{Status: string(r.status), Name: string(r.name), Created: time.UnixMilli(r.created)}
	if err == nil && !m.Brief() {
		w, err = workflowOf(id, status)
	}
	if err != nil {
		return nil, false, fmt.Errorf("the view's own row of %s: %w", id, err)
	}
	return status, m.Fits(&w), nil
}

// Has reports whether the view shows this run of a workflow.
func (v *View) Has(id string, run events.RunID) (bool, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.away || v.health.Err() != nil {
		return false, ErrRemade
	}
	stored, err := v.get(appendRowKey(nil, []byte(id)))
	if err != nil || stored == nil {
		return false, err
	}
	_, status, err := storedRow(stored)
	if err != nil {
		return false, fmt.Errorf("the view's own row of %s: %w", id, err)
	}
	var s struct {
		Run string `json:"run"`
	}
	if err := jsonv2.Unmarshal(status, &s, asStored); err != nil {
		return false, fmt.Errorf("the view's own row of %s: %w", id, err)
	}
	return s.Run == run.String(), nil
}
