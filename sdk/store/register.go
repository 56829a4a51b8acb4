package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Opener opens a store by its address, SCHEME:REST, of which it gets the whole.
type Opener func(ctx context.Context, address string) (Opened, error)

var (
	registered   = map[string]Opener{}
	registeredMu sync.Mutex
)

// Register makes Open know a scheme. A program calls it in main, before it opens any, for each
// adapter that it links: no package registers itself, so that a binary has only the databases it names. It
// panics when a scheme is registered twice or could stand in no address.
func Register(scheme string, open Opener) {
	registeredMu.Lock()
	defer registeredMu.Unlock()
	if scheme == "" || strings.Contains(scheme, ":") || open == nil {
		panic(fmt.Sprintf("store: the scheme %q cannot be registered", scheme))
	}
	if registered[scheme] != nil {
		panic(fmt.Sprintf("store: the scheme %q is registered twice", scheme))
	}
	registered[scheme] = open
}

// Open opens the store at an address, as postgres://user@host/database or
// sqlite:/var/lib/runs.db, by the adapter that the program has registered for the
// part before the first colon. Whoever opens it closes it.
func Open(ctx context.Context, address string) (Opened, error) {
	scheme, _, ok := strings.Cut(address, ":")
	registeredMu.Lock()
	open := registered[scheme]
	known := slices.Sorted(maps.Keys(registered))
	registeredMu.Unlock()
	if !ok || open == nil { // the address may hold a password, so it is not repeated
		return nil, fmt.Errorf("no store is registered for the scheme of the address; this program knows %s", strings.Join(known, ", "))
	}
	s, err := open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("opening the %s store: %w", scheme, err)
	}
	return s, nil
}
