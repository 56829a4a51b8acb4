package view

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/search"
)

// Uses is how many open workflows the view knows of each definition, by digest. It
// is cut short where there are more of them than one request looks at.
type Uses struct {
	Open map[string]uint64
	Cut  bool
}

// closedStatuses are those of workflows that need their definition no more.
var closedStatuses = []string{"completed", "cancelled"}

// Uses counts open workflows by their definition; it looks at most of them.
func (v *View) Uses(most int) (Uses, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.away || v.health.Err() != nil {
		return Uses{}, ErrRemade
	}
	u := Uses{Open: map[string]uint64{}}
	left := most
	for _, status := range events.Statuses() {
		if slices.Contains(closedStatuses, status) {
			continue
		}
		if err := v.countUses(&u, status, &left); err != nil {
			if v.health.Err() != nil {
				err = ErrRemade // the count has met it
			}
			return Uses{}, err
		}
	}
	return u, nil
}

// countUses adds the workflows of one status, at most left of them.
func (v *View) countUses(u *Uses, status string, left *int) error {
	prefix := appendPrefix(nil, byStatus, status)
	it, err := v.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: end(prefix)})
	if err != nil {
		return fmt.Errorf("read the view: %w", err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if *left == 0 {
			u.Cut = true
			return nil
		}
		*left--
		id := search.PlaceID(it.Key()[len(prefix):])
		digest, err := v.digestOf(id)
		if err != nil {
			return err
		}
		u.Open[digest]++
	}
	return it.Error()
}

// digestOf is the definition of a workflow.
func (v *View) digestOf(id []byte) (string, error) {
	stored, err := v.get(appendRowKey(nil, id))
	if err != nil || stored == nil {
		return "", err
	}
	_, status, err := storedRow(stored)
	var r row
	if err == nil {
		r, err = parseRow(status)
	}
	if err != nil {
		return "", fmt.Errorf("the view's own row of %s: %w", id, err)
	}
	return string(r.digest), nil
}
