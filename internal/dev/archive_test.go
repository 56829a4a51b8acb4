package dev_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
)

// until waits until something is so.
func until(t *testing.T, ctx context.Context, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("it never comes that %s", what)
		}
	}
}

// What a deployment forgets by its age is in its archive, with its results, and lists go on with it.
func TestNothingIsForgotten(t *testing.T) {
	ctx := within(t)
	d := start(t, ctx, dev.Options{Partitions: 2, Memory: true})
	defer stop(t, d)
	c := connect(t, d)
	defer c.Close()
	def := json.RawMessage(`{"name":"brief","components":{"twice":{"expr":"input * 2"}},"options":{"close":"on_idle","retain":{"completed":"300ms"},"labels":{"team":"blue"}}}`)
	if _, err := c.Define(ctx, "brief", def); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(ctx, "brief", 21, client.StartOptions{ID: "a", Wait: client.UntilDrained}); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, "it is forgotten", func() bool { _, err := c.Get(ctx, "a"); return errors.Is(err, client.ErrNotFound) })
	run, err := c.GetArchived(ctx, "a", client.ArchivedOptions{})
	if err != nil || string(run.Results["twice"]) != "42" || run.Workflow.Status != client.StatusCompleted || !run.Workflow.Archived.Over {
		t.Fatalf("the archive has %+v, %v", run, err)
	}
	page, err := c.ArchivedHistory(ctx, "a", client.ArchivedOptions{})
	if err != nil || len(page.Items) < 5 || page.Items[len(page.Items)-2].Type != "WorkflowCompleted" {
		t.Fatalf("its history is %+v, %v", page, err)
	}
	until(t, ctx, "the list has it no more", func() bool { l, err := c.List(ctx, client.Filter{}); return err == nil && len(l.Items) == 0 })
	all, err := c.List(ctx, client.Filter{Labels: map[string]string{"team": "blue"}, Archived: true})
	if err != nil || all.Next == "" {
		t.Fatalf("the list ends before the archive: %+v, %v", all, err)
	}
	all, err = c.List(ctx, client.Filter{Labels: map[string]string{"team": "blue"}, Archived: true, Cursor: all.Next})
	if err != nil || len(all.Items) != 1 || all.Items[0].Archived == nil || all.Items[0].Archived.Run != run.Workflow.Archived.Run {
		t.Fatalf("the list goes on with %+v, %v", all, err)
	}
	if found, err := c.Archive(ctx, client.Filter{Text: "nobody"}); err != nil || len(found.Items) != 0 {
		t.Fatalf("the archive has %+v, %v", found, err)
	}
}

// A workflow that lives goes on in another deployment, which has nothing but the store; what was in flight is done again. One
// that is over can be read there again.
func TestWhatIsArchivedIsRestoredElsewhere(t *testing.T) {
	ctx := within(t)
	kept := memory.New()
	defer kept.Close()
	first := start(t, ctx, dev.Options{Partitions: 2, Memory: true, Store: kept, ArchiveAll: true})
	c := connect(t, first)
	living := json.RawMessage(`{"name":"living","components":{"slow":{"step":"test.sleep","params":{"ms":700}},"go":{"signal":"go","after":"slow"}},"options":{"close":"on_idle"}}`)
	over := json.RawMessage(`{"name":"over","components":{"twice":{"expr":"input * 2"}},"options":{"close":"on_idle"}}`)
	for name, def := range map[string]json.RawMessage{"living": living, "over": over} {
		if _, err := c.Define(ctx, name, def); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Start(ctx, name, 4, client.StartOptions{ID: name, Wait: client.UntilDecided}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, ctx, "both are archived", func() bool {
		all, err := c.Archive(ctx, client.Filter{})
		return err == nil && len(all.Items) == 2
	})
	if _, err := c.Restore(ctx, "over", client.RestoreOptions{By: "ann"}); !errors.Is(err, client.ErrAlreadyStarted) {
		t.Errorf("one that is there is restored: %v", err)
	}
	if err := errors.Join(c.Close(), first.Stop()); err != nil {
		t.Fatal(err)
	}

	second := start(t, ctx, dev.Options{Partitions: 2, Memory: true, Store: store.Store(kept), ArchiveAll: true})
	defer stop(t, second)
	c = connect(t, second)
	defer c.Close()
	restored, err := c.Restore(ctx, "living", client.RestoreOptions{By: "ann", Why: "the other one is gone"})
	if err != nil || restored.AsOf == "" || restored.Workflow.Status != client.StatusRunning {
		t.Fatalf("restored %+v, %v", restored, err)
	}
	run, err := c.Signal(ctx, "living", "go", nil, client.SignalOptions{})
	if err != nil {
		t.Fatalf("%+v, %v", run, err)
	}
	until(t, ctx, "it is completed", func() bool { w, err := c.Get(ctx, "living"); return err == nil && w.Status == client.StatusCompleted })
	if _, err := c.Restore(ctx, "over", client.RestoreOptions{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Results(ctx, "over"); err != nil || string(r.Results["twice"]) != "8" || r.Status != client.StatusCompleted {
		t.Fatalf("over has %+v, %v", r, err)
	}
	history, err := c.History(ctx, "living", client.PageOptions{})
	if err != nil || history.Items[0].Type != "WorkflowRestored" {
		t.Fatalf("its history is %+v, %v", history, err)
	}
	until(t, ctx, "it is archived again, as another run", func() bool {
		all, err := c.Archive(ctx, client.Filter{Definition: "living", Status: client.StatusCompleted})
		return err == nil && len(all.Items) == 1 && all.Items[0].Archived.Over
	})
}
