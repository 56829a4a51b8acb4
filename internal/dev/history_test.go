package dev_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/client"
)

// A deployment keeps the history of its workflows for as long as it is told to, and by
// default for longer than this test runs.
func TestTheJournalKeepsTheHistoryThatIsAskedFor(t *testing.T) {
	ctx := within(t)
	o := dev.Options{Dir: t.TempDir(), Partitions: 1}
	d := start(t, ctx, o)
	c := connect(t, d)
	if _, err := c.Define(ctx, "double", []byte(double)); err != nil {
		t.Fatal(err)
	}
	run := func(c *client.Client, id string) {
		t.Helper()
		if _, err := c.Start(ctx, "double", 21, client.StartOptions{ID: id}); err != nil {
			t.Fatal(err)
		}
		napped(t, ctx, c, id, 42)
	}
	run(c, "a")
	if at := journalBegins(t, ctx, d); at != 0 {
		t.Errorf("by default the journal begins at %d", at)
	}
	stop(t, d)

	// What an owner's first checkpoint covers is trimmed behind it, and it looks again ten minutes later only: what that
	// look did not find is left to the next owner.
	o.History = time.Millisecond
	for i := 0; ; i++ {
		d = start(t, ctx, o)
		run(connect(t, d), fmt.Sprint("b", i))
		if trimmed(t, ctx, d) {
			break
		}
		stop(t, d)
	}
	defer stop(t, d)
	napped(t, ctx, connect(t, d), "a", 42)
}

// trimmed reports whether the journal is trimmed within a few seconds.
func trimmed(t *testing.T, ctx context.Context, d *dev.Dev) bool {
	t.Helper()
	for range 50 {
		if journalBegins(t, ctx, d) > 0 {
			return true
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("a history of a millisecond is kept")
		}
	}
	return false
}

// journalBegins is where the journal of the only partition begins.
func journalBegins(t *testing.T, ctx context.Context, d *dev.Dev) int64 {
	t.Helper()
	cfg := kafka.Config{Brokers: d.Brokers, Prefix: d.Prefix}
	names, err := cfg.Names()
	if err != nil {
		t.Fatal(err)
	}
	cl, err := kafka.NewAdmin(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	starts, err := kadm.NewClient(cl).ListStartOffsets(ctx, names.Journal())
	at, err := kafka.OffsetOf(starts, err, names.Journal(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
