package client

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// KeySummary is how much of the limit of a key of the policy field concurrency or rate_limit is used, or the state of one of circuit_breaker.
type KeySummary struct {
	Name     string     `json:"name"`
	Kind     string     `json:"kind"`               // concurrency, rate or breaker
	Limit    uint64     `json:"limit"`              // permits at a time, or in a time; of a breaker: failures in a row that open it
	PerMs    int64      `json:"per_ms,omitempty"`   // of a rate: that time in milliseconds; of a breaker: for how long it is open
	State    string     `json:"state,omitempty"`    // of a breaker: closed, open or half_open
	Failures uint64     `json:"failures,omitempty"` // of a breaker: in a row
	Turned   *time.Time `json:"turned,omitempty"`   // of a breaker: when it came to its state; it began closed
	Held     uint64     `json:"held"`               // of a rate: granted within the last such time
	Queued   uint64     `json:"queued"`
	Next     *time.Time `json:"next,omitempty"` // of a rate whose permits are out, or a breaker that is open: when there is another one
}

// Key is what a key is at.
type Key struct {
	KeySummary
	Holders []KeyPermit `json:"holders"` // the first 100; none of a rate, whose permits nobody gives back
	Queue   []KeyPermit `json:"queue"`   // the first 100, in the order in which they are granted
}

// KeyPermit is a permit that an attempt holds, or a request of a runnable for one.
type KeyPermit struct {
	Workflow string    `json:"workflow"`
	Runnable string    `json:"runnable"`
	Since    time.Time `json:"since"` // granted or asked for
}

// Key is a key of concurrency as of now, by its name: a consistent read. It is not found while nobody
// holds one of its permits or waits for one.
func (c *Client) Key(ctx context.Context, name string) (*Key, error) {
	return c.key(ctx, events.ConcurrencyKey, name)
}

// RateKey is likewise a key of rate_limit. It is not found once nobody waits for one of its permits and
// those that it has granted are older than its time.
func (c *Client) RateKey(ctx context.Context, name string) (*Key, error) {
	return c.key(ctx, events.RateKey, name)
}

// Breaker is likewise a circuit_breaker. It is not found while it is closed, no failure counts, and no attempt behind it is open.
func (c *Client) Breaker(ctx context.Context, name string) (*Key, error) {
	return c.key(ctx, events.BreakerKey, name)
}

func (c *Client) key(ctx context.Context, kind, name string) (*Key, error) {
	if err := events.CheckKeyName(name); err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	raw, err := c.t.Query(ctx, Query{Kind: "key", Workflow: events.KeyOf(kind, name)})
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", name, err)
	}
	return decode[*Key]("key "+name, raw)
}

// KeyFilter chooses keys, and one page of their list.
type KeyFilter struct {
	Kind   string // only those of concurrency, or of rate; empty: all
	Cursor string // Next of the page before; empty: the first
	Limit  int    // 0: the default
}

// Keys lists the keys that somebody holds a permit of or waits for, and the rates that remember a
// permit. Each is as of now, by a consistent read of its partition. A page may end before it is full. It is the gateway's: not
// over Kafka.
func (c *Client) Keys(ctx context.Context, f KeyFilter) (*Page[KeySummary], error) {
	raw, err := c.t.Keys(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return decode[*Page[KeySummary]]("keys", raw)
}
