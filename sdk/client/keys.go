package client

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// Key is what a key of the policy field concurrency is at.
type Key struct {
	Name    string      `json:"name"`
	Kind    string      `json:"kind"`  // concurrency
	Limit   uint64      `json:"limit"` // permits at a time
	Held    uint64      `json:"held"`
	Queued  uint64      `json:"queued"`
	Holders []KeyPermit `json:"holders"` // the first 100
	Queue   []KeyPermit `json:"queue"`   // the first 100, in the order in which they are granted
}

// KeyPermit is a permit that an attempt holds, or a request of a runnable for one.
type KeyPermit struct {
	Workflow string    `json:"workflow"`
	Runnable string    `json:"runnable"`
	Since    time.Time `json:"since"` // granted or asked for
}

// Key is a key as of now, by its name: a consistent read. It is not found while nobody holds one
// of its permits or waits for one.
func (c *Client) Key(ctx context.Context, name string) (*Key, error) {
	if err := events.CheckKeyName(name); err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	raw, err := c.t.Query(ctx, Query{Kind: "key", Workflow: events.KeyOf(events.ConcurrencyKey, name)})
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", name, err)
	}
	return decode[*Key]("key "+name, raw)
}
