// Package shelf reads runs out of the store that an archiver writes: it lists and searches them, and answers about one what
// its planner would have answered at the last of its records that are kept.
package shelf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/internal/history"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/search"
)

const (
	// mostLooked is how many runs one list looks at, and mostLookedBytes of how many bytes, which are mostly results.
	mostLooked      = 2000
	mostLookedBytes = 32 << 20
	// mostFolded is how many entries are folded to answer.
	mostFolded = 200_000
)

// Shelf reads a store. Its methods may be called by several goroutines.
type Shelf struct{ Store store.Store }

// Error is why a question is not answered; its code is stable.
type Error struct{ Code, Message string }

func (e *Error) Error() string { return e.Message }

// Refusal is the code and the text for a client.
func (e *Error) Refusal() (code, message string) { return e.Code, e.Message }

// Archived is what a list says of a run beside its summary.
type Archived struct {
	Run     string `json:"run"`               // which of the workflow's runs it is, to ask for it
	Entries uint64 `json:"entries"`           // records that are kept
	Over    bool   `json:"over"`              // nothing follows
	Deleted bool   `json:"deleted,omitempty"` // the deployment has it no more
	Lacks   bool   `json:"lacks,omitempty"`   // its first records were in no journal any more when it was archived
	Why     string `json:"why,omitempty"`     // the summary is not what its planner would say
}

// List lists runs in the order of their workflows' IDs, behind a cursor. looked: the page ends because so many were looked at.
func (s *Shelf) List(ctx context.Context, f search.Filter, cursor string, limit int) (items []json.RawMessage, next string, looked int, err error) {
	if _, bad := archive.ParseRunID(cursor); cursor != "" && bad != nil {
		return nil, "", 0, &Error{"invalid_parameter", "the cursor is none of the archive"}
	}
	m := f.Matcher()
	items = []json.RawMessage{}
	size := 0
	for {
		page, err := s.Store.List(ctx, store.Filter{Prefix: archive.AllRuns, Labels: archive.Narrowed(f), Limit: limit}, cursor)
		if err != nil {
			return nil, "", 0, fmt.Errorf("listing the archive: %w", err)
		}
		for _, item := range page.Items {
			if len(items) == limit {
				return items, cursor, 0, nil
			}
			if looked == mostLooked || size > mostLookedBytes {
				return items, cursor, looked, nil
			}
			cursor, looked = item.ID, looked+1
			found, bytes, fits, err := s.item(ctx, &item, m)
			if err != nil {
				return nil, "", 0, err
			}
			size += bytes
			if fits {
				items = append(items, found)
			}
		}
		if page.Next == "" {
			return items, "", 0, nil
		}
		if cursor = page.Next; len(items) == limit {
			return items, cursor, 0, nil
		}
	}
}

// item is a run as lists show it, how many bytes were read for it, and whether it is wanted.
func (s *Shelf) item(ctx context.Context, item *store.Item, m *search.Matcher) (shown json.RawMessage, bytes int, fits bool, err error) {
	run, err := archive.ParseRunID(item.ID)
	if err != nil {
		return nil, 0, false, nil // another program's
	}
	stored, ok, err := s.Store.LoadSnapshot(ctx, item.ID)
	if err != nil {
		return nil, 0, false, fmt.Errorf("listing the archive: %w", err)
	}
	if !ok {
		return nil, 0, false, nil // its archiver has just begun it
	}
	bytes = len(stored.Data)
	snap, sum, err := parse(stored.Data)
	if err != nil {
		return nil, bytes, false, fmt.Errorf("listing the archive: %s: %w", item.ID, err)
	}
	if w := archive.Searched(sum); !m.Fits(&w) {
		return nil, bytes, false, nil
	}
	shown, err = with(snap, run, item.End)
	return shown, bytes, err == nil, err
}

func parse(data []byte) (*archive.Snapshot, *events.Summary, error) {
	snap, err := archive.ParseSnapshot(data)
	if err != nil {
		return nil, nil, err
	}
	var sum events.Summary
	if err := json.Unmarshal(snap.Summary, &sum); err != nil {
		return nil, nil, err
	}
	return snap, &sum, nil
}

// with is a summary that says that it is archived.
func with(snap *archive.Snapshot, run archive.Run, entries uint64) (json.RawMessage, error) {
	about, err := json.Marshal(Archived{Run: run.Name(), Entries: entries, Over: snap.Over, Deleted: snap.Deleted, Lacks: snap.Lacks, Why: snap.Why})
	if err != nil {
		return nil, err
	}
	if len(snap.Summary) < 3 {
		return nil, errors.New("a summary is empty")
	}
	out := append(json.RawMessage{}, snap.Summary[:len(snap.Summary)-1]...)
	return append(append(append(out, `,"archived":`...), about...), '}'), nil
}

// Show is a run's summary with its results.
func (s *Shelf) Show(ctx context.Context, workflow, name string) (json.RawMessage, error) {
	f, err := s.find(ctx, workflow, name)
	if err != nil {
		return nil, err
	}
	snap, results, err := s.current(ctx, f)
	if err != nil {
		return nil, err
	}
	shown, err := with(snap, f.run, f.item.End)
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		results = json.RawMessage("null")
	}
	return json.Marshal(map[string]json.RawMessage{"workflow": shown, "results": results})
}

// current is what a run comes to as of its last entry: as its snapshot says, where that covers it.
func (s *Shelf) current(ctx context.Context, f found) (*archive.Snapshot, json.RawMessage, error) {
	snap := &archive.Snapshot{}
	stored, ok, err := s.Store.LoadSnapshot(ctx, f.item.ID)
	if err == nil && ok {
		snap, err = archive.ParseSnapshot(stored.Data)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s in the archive: %w", f.run.Workflow, err)
	}
	if snap.Lacks || snap.Whole && snap.Why == "" && stored.At == f.item.End {
		return snap, snap.Results, nil
	}
	folded, err := s.fold(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	sum, results, err := folded.Outcome()
	if err != nil {
		return nil, nil, err
	}
	snap.Summary, err = json.Marshal(sum)
	return snap, results, err
}

// Query answers a query about a run.
func (s *Shelf) Query(ctx context.Context, workflow, name string, q events.Query) (json.RawMessage, error) {
	f, err := s.find(ctx, workflow, name)
	if err != nil {
		return nil, err
	}
	folded, err := s.fold(ctx, f)
	if err != nil {
		return nil, err
	}
	body, refusal, err := folded.Query(q)
	if err == nil && refusal != nil {
		err = &Error{refusal.Code, refusal.Message}
	}
	return body, err
}

// mostRestored is how many bytes of rows and definitions one record takes.
const mostRestored = 1_500_000

// Restore is what a planner needs to go on with a run.
func (s *Shelf) Restore(ctx context.Context, workflow, name string) (*events.RunRestore, error) {
	f, err := s.find(ctx, workflow, name)
	if err != nil {
		return nil, err
	}
	folded, err := s.fold(ctx, f)
	if err != nil {
		return nil, err
	}
	m, err := folded.Restore()
	if err != nil {
		return nil, &Error{"cannot_restore", err.Error()}
	}
	if n := len(events.EncodeInbox(m)); n > mostRestored {
		return nil, &Error{"too_large", fmt.Sprintf("the workflow's state has %d bytes, and a record takes %d of one that is restored", n, mostRestored)}
	}
	return m, nil
}

// fold folds the entries of a run.
func (s *Shelf) fold(ctx context.Context, f found) (*archive.Folded, error) {
	if f.item.Labels[archive.LabelLacks] != "" {
		return nil, &Error{"incomplete_archive", fmt.Sprintf("the first records of %s were in no journal any more when it was archived: there is its summary, and its last events", f.run.Workflow)}
	}
	if f.item.End > mostFolded {
		return nil, &Error{"too_large", fmt.Sprintf("the run has %d records, and %d are looked at at most: there is its history", f.item.End, mostFolded)}
	}
	partition, err := s.partition(ctx, f)
	if err != nil {
		return nil, err
	}
	folded := archive.NewFolder(partition).Begin(f.run.Workflow)
	for rec, err := range s.records(ctx, f, 0) {
		if err != nil {
			return nil, err
		}
		definitions, err := s.definitions(ctx, rec)
		if err == nil {
			err = folded.Add(rec, definitions)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s in the archive: %w", f.run.Workflow, err)
		}
	}
	return folded, nil
}

// partition is where the run was.
func (s *Shelf) partition(ctx context.Context, f found) (int32, error) {
	stored, ok, err := s.Store.LoadSnapshot(ctx, f.item.ID)
	if err != nil || !ok {
		return 0, err
	}
	_, sum, err := parse(stored.Data)
	if err != nil {
		return 0, fmt.Errorf("reading %s in the archive: %w", f.run.Workflow, err)
	}
	return sum.Partition, nil
}

// records are those of a run, from a number on.
func (s *Shelf) records(ctx context.Context, f found, from uint64) func(yield func(*events.Record, error) bool) {
	return func(yield func(*events.Record, error) bool) {
		for data, err := range store.Entries(ctx, s.Store, f.item.ID, from) {
			var rec *events.Record
			if err == nil {
				rec, err = archive.Decode(data)
			}
			if err != nil {
				err = fmt.Errorf("reading %s in the archive: %w", f.run.Workflow, err)
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// definitions are those that a record needs.
func (s *Shelf) definitions(ctx context.Context, rec *events.Record) (func(string) ([]byte, bool), error) {
	all := map[string][]byte{}
	for _, digest := range archive.Needs(rec) {
		log, err := s.Store.Load(ctx, archive.DefinitionID(digest), 0)
		if err != nil {
			return nil, err
		}
		if len(log.Entries) > 0 {
			all[digest] = log.Entries[0]
		}
	}
	return func(digest string) ([]byte, bool) { b, ok := all[digest]; return b, ok }, nil
}

// History is one page of a run's events.
func (s *Shelf) History(ctx context.Context, workflow, name string, from history.Cursor, limit int) (history.Page, error) {
	f, err := s.find(ctx, workflow, name)
	if err != nil {
		return history.Page{}, err
	}
	names, err := s.names(ctx, f)
	if err != nil {
		return history.Page{}, err
	}
	return history.PageOf(s.records(ctx, f, uint64(from.Offset)), names, from, limit)
}

// names are what the components of a run's definition are called, as far as that is known.
func (s *Shelf) names(ctx context.Context, f found) (*history.Names, error) {
	for rec, err := range s.records(ctx, f, 0) {
		if err != nil {
			return nil, err
		}
		definitions, err := s.definitions(ctx, rec)
		if err != nil {
			return nil, err
		}
		return history.NewNames(archive.Components(rec, definitions)), nil
	}
	return history.NewNames(nil), nil
}
