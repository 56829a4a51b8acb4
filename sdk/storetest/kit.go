// Package storetest holds an adapter of package store against the contract of its
// interface: one call of Run in a test of the adapter. docs/stores.md shows how.
package storetest

import (
	"context"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
)

// Place is where an adapter keeps data for one test, empty at first, and what the kit
// may do to it.
type Place struct {
	// Open opens the store over what is in the place. The kit closes it, and opens
	// another one only behind that, unless the place is Shared.
	Open func(t testing.TB) store.Opened

	// Volatile: nothing is left of the data when the store is closed. All else
	// must have Interrupt.
	Volatile bool

	// Shared: several processes may have the data open at once, as Open may be called again before Close.
	Shared bool

	// Interrupt opens the store, calls do with it, and cuts it off from what is written at a
	// step, counted from 0 as do begins: what a killed process, a torn write or a cut
	// connection leaves then is what the place holds. From that moment on the context that
	// do was given has ended, and whatever the store answers is ignored. A step
	// may be any that the adapter can be caught in: before, in the middle of or behind a write to a file, or a message to a
	// server. Steps of one do should be the same whenever it is called. Interrupt returns whether do was interrupted;
	// that it was not tells the kit that there are no more steps. No store is open behind it.
	Interrupt func(t testing.TB, step int, do func(ctx context.Context, s store.Store)) bool
}

// Run tests an adapter. place makes an empty Place; it is called for each test of the
// kit. What the place is made of, as a directory, is of the t that place is given: the
// functions of the place are given those of tests within it, which end sooner.
func Run(t *testing.T, place func(t testing.TB) Place) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.run(t, place(t)) })
	}
}

// check is one test of the kit.
type check struct {
	name string
	run  func(t *testing.T, p Place)
}

var checks = []check{
	{"AbsentIsEmpty", opened(absentIsEmpty)},
	{"AppendAndLoad", opened(appendAndLoad)},
	{"LoadInParts", opened(loadInParts)},
	{"NothingIsShared", opened(nothingIsShared)},
	{"Conflict", opened(conflict)},
	{"Fenced", opened(fenced)},
	{"Claim", opened(claimFences)},
	{"Limits", opened(limits)},
	{"Ended", opened(ended)},
	{"Snapshot", opened(snapshot)},
	{"SnapshotRefused", opened(snapshotRefused)},
	{"Delete", opened(deleted)},
	{"ListOrder", opened(listOrder)},
	{"ListLabels", opened(listLabels)},
	{"ListWhileWritten", opened(listWhileWritten)},
	{"OneAppenderWins", oneAppenderWins},
	{"ManyWriters", manyWriters},
	{"ReadersSeeWholeBatches", opened(readersSeeWholeBatches)},
	{"GivenUp", opened(givenUp)},
	{"Closed", closed},
	{"Reopened", reopened},
	{"Torn", torn},
	{"Model", model},
}

// opened is a check of one open store.
func opened(run func(t *testing.T, s store.Store)) func(*testing.T, Place) {
	return func(t *testing.T, p Place) { run(t, open(t, p)) }
}

// open opens the place until the test ends.
func open(t *testing.T, p Place) store.Opened {
	t.Helper()
	s := p.Open(t)
	t.Cleanup(func() { shut(t, s) })
	return s
}

func shut(t testing.TB, s store.Opened) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("closing the store: %v", err)
	}
}

// texts makes entries.
func texts(all ...string) [][]byte {
	var entries [][]byte
	for _, s := range all {
		entries = append(entries, []byte(s))
	}
	return entries
}

// large is a text of so many bytes that begins with a name.
func large(name string, size int) string { return name + strings.Repeat("x", size-len(name)) }
