package shelf

import (
	"context"
	"fmt"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
)

// found is a run in the store.
type found struct {
	run  archive.Run
	item store.Item
}

// mostJournals is of how many journals the newest runs of a workflow are compared.
const mostJournals = 64

// find finds a run of a workflow: the one that is named, else that which was written last.
func (s *Shelf) find(ctx context.Context, workflow, name string) (f found, err error) {
	all, err := s.newest(ctx, workflow, name)
	if err != nil {
		return f, err
	}
	latest := int64(-1)
	for _, g := range all { // order: the latest is one of them
		if len(all) == 1 {
			return g, nil
		}
		at, err := s.updated(ctx, g.item.ID) // positions of several journals have no order
		if err != nil {
			return f, err
		}
		if at > latest {
			f, latest = g, at
		}
	}
	switch {
	case f.item.ID != "":
		return f, nil
	case name != "":
		return f, &Error{"not_found", fmt.Sprintf("the archive has no run %s of the workflow %q", name, workflow)}
	}
	return f, &Error{"not_found", fmt.Sprintf("the archive has no workflow %q", workflow)}
}

// newest are the newest runs of a workflow, or those that are named, by their journals.
func (s *Shelf) newest(ctx context.Context, workflow, name string) (map[string]found, error) {
	all := map[string]found{}
	for cursor := ""; ; {
		page, err := s.Store.List(ctx, store.Filter{Prefix: archive.RunsOf(workflow), Limit: store.MaxLimit}, cursor)
		if err != nil {
			return nil, fmt.Errorf("looking for %s in the archive: %w", workflow, err)
		}
		for _, item := range page.Items {
			run, err := archive.ParseRunID(item.ID)
			if err != nil || run.Workflow != workflow || name != "" && run.Name() != name && run.Start.String() != name {
				continue
			}
			if old, ok := all[run.Journal]; !ok || old.run.Start.Before(run.Start) {
				all[run.Journal] = found{run, item}
			}
			if len(all) > mostJournals {
				return nil, &Error{"ambiguous_run", fmt.Sprintf("%s has runs of more than %d journals in the archive: say which is meant", workflow, mostJournals)}
			}
		}
		if cursor = page.Next; cursor == "" {
			return all, nil
		}
	}
}

// updated is when a run was last written to, by its snapshot (Unix ms).
func (s *Shelf) updated(ctx context.Context, id string) (int64, error) {
	stored, ok, err := s.Store.LoadSnapshot(ctx, id)
	if err != nil || !ok {
		return 0, err
	}
	_, sum, err := parse(stored.Data)
	if err != nil {
		return 0, fmt.Errorf("%s in the archive: %w", id, err)
	}
	return int64(sum.Updated), nil
}
