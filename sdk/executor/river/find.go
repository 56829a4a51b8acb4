package river

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/heddle-run/heddle/sdk/executor"
)

// find is the job of each work, nil where there is none: by its ID, which must have the work's key, else by the key.
func (a *adapter) find(ctx context.Context, refs []executor.Ref) ([]*rivertype.JobRow, error) {
	jobs := make([]*rivertype.JobRow, len(refs))
	byID, err := a.byID(ctx, refs)
	if err != nil {
		return nil, err
	}
	for i, ref := range refs {
		if ref.ID == "" {
			if jobs[i], err = a.byKey(ctx, ref.Key); err != nil {
				return nil, err
			}
			continue
		}
		if job := byID[ref.ID]; job != nil && keyOf(job) == ref.Key {
			jobs[i] = job
		}
	}
	return jobs, nil
}

// byID are the jobs that refs name by their IDs.
func (a *adapter) byID(ctx context.Context, refs []executor.Ref) (map[string]*rivertype.JobRow, error) {
	var ids []int64
	for _, ref := range refs {
		if id, err := strconv.ParseInt(ref.ID, 10, 64); err == nil { // what is no number is no job of ours
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := a.client.JobList(ctx, river.NewJobListParams().IDs(ids...).First(len(ids)))
	if err != nil {
		return nil, fmt.Errorf("reading %d jobs: %w", len(ids), err)
	}
	found := make(map[string]*rivertype.JobRow, len(list.Jobs))
	for _, job := range list.Jobs {
		found[strconv.FormatInt(job.ID, 10)] = job
	}
	return found, nil
}

// byKey is the job of a key; nil: there is none.
func (a *adapter) byKey(ctx context.Context, key string) (*rivertype.JobRow, error) {
	metadata, err := json.Marshal(named{key})
	if err != nil {
		return nil, err
	}
	list, err := a.client.JobList(ctx, river.NewJobListParams().Metadata(string(metadata)).First(1))
	if err != nil {
		return nil, fmt.Errorf("looking for the job of %s: %w", key, err)
	}
	if len(list.Jobs) == 0 {
		return nil, nil
	}
	return list.Jobs[0], nil
}

// keyOf is the key of a job's work; empty: it is no job of ours.
func keyOf(job *rivertype.JobRow) string {
	var n named
	if json.Unmarshal(job.Metadata, &n) != nil {
		return ""
	}
	return n.Key
}
