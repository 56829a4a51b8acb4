package main

import "sync"

// entry is what the accountant knows of one workflow.
type entry struct {
	n     int
	acked bool // its start was acknowledged
	ended bool // it was seen to have ended
}

// book is the accountant's record, kept outside of what is killed.
type book struct {
	mu      sync.Mutex
	entries map[string]*entry
}

func newBook() *book { return &book{entries: map[string]*entry{}} }

// enter notes a workflow before its start is sent.
func (b *book) enter(id string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries[id] = &entry{n: n}
}

// acknowledge notes that a start was acknowledged.
func (b *book) acknowledge(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries[id].acked = true
}

// end notes that a workflow was seen to have ended.
func (b *book) end(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries[id].ended = true
}

func (b *book) isAcknowledged(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entries[id].acked
}

// each calls fn with a copy of every entry.
func (b *book) each(fn func(id string, e entry)) {
	b.mu.Lock()
	copies := make(map[string]entry, len(b.entries))
	for id, e := range b.entries {
		copies[id] = *e
	}
	b.mu.Unlock()
	for id, e := range copies {
		fn(id, e)
	}
}
