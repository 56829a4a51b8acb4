package store

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/shared/rows"
)

// All caches of a process keep to one budget, however many there are: one that comes
// takes its share from the others, and one that goes gives it back.
func TestTheCachesOfAProcessShareOneBudget(t *testing.T) {
	const total = 256 << 10
	b := NewBudget(total)
	type shared struct {
		s *Store
		c *Cache
		n uint64
	}
	fill := func(x *shared) int64 { // with far more than there is room for
		for range 4000 {
			x.n++
			key := rows.Key{Table: rows.Fact, Workflow: fmt.Sprint("w", x.n%50), A: x.n}
			feed(t, x.s, x.c, x.n, rows.Write{Key: key, Row: &text{"a fact"}})
		}
		return x.c.Stats().Bytes
	}
	var all []*shared
	for range 4 {
		s := open(t, vfs.NewMem())
		defer s.Close()
		all = append(all, &shared{s: s, c: NewCacheWithin(b, s)})
		sum := int64(0)
		for _, x := range all {
			sum += fill(x)
		}
		if sum > total || sum < total/2 {
			t.Errorf("%d caches have %d bytes of %d", len(all), sum, total)
		}
	}
	for _, x := range all[1:] {
		x.c.Release()
	}
	if alone := fill(all[0]); alone > total || alone < total/2 {
		t.Errorf("the last cache has %d bytes of %d", alone, total)
	}
}
