package store

import "sync/atomic"

// Budget is the bytes that all hot caches of a process may take together. The caches
// that are open have equal shares: what one gives up when it is closed is the others'.
// It is safe for concurrent use.
type Budget struct {
	total int64
	open  atomic.Int64 // caches
}

// NewBudget makes a budget of so many bytes.
func NewBudget(total int64) *Budget { return &Budget{total: total} }

// share is what one cache may take now.
func (b *Budget) share() int64 { return b.total / max(1, b.open.Load()) }
