package partition

import (
	"context"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/rows"
)

// collectNames reads the workflows of a store. It may run beside the owner.
func collectNames(ctx context.Context, s *store.Store) (*loop.Bloom, error) {
	b := &loop.Bloom{}
	for _, table := range []rows.Table{rows.Header, rows.Ledger, rows.Received} {
		last := ""
		err := s.ScanTable(table, func(k rows.Key, _ []byte) bool {
			if k.Workflow != last {
				last = k.Workflow
				b.Note(last)
			}
			return ctx.Err() == nil && !b.Full()
		})
		if err != nil {
			return nil, err
		}
	}
	return b, ctx.Err()
}
