package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/examples/spool/box"
	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/worker"
)

// The definition of docs/executors.md, by the adapter that the page shows: what one worker has handed over, another one goes on with.
func TestTheExampleOfExecutorsRuns(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	page, err := os.ReadFile("../../docs/executors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, definition, _ := strings.Cut(string(page), "```yaml\n")
	definition, _, _ = strings.Cut(definition, "```")
	d, err := dev.Start(ctx, dev.Options{Memory: true, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}()
	c, err := client.New(ctx, client.Options{URL: d.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Define(ctx, "leaflet", []byte(definition)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stop := serve(t, d.Brokers, dir)
	run, err := c.Start(ctx, "leaflet", "warp and weft", client.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	work := found(t, dir)
	stop() // it leaves its work to others
	if content, err := os.ReadFile(work); err != nil || string(content) != `"warp and weft"` {
		t.Errorf("the box has %s, %v", content, err)
	}
	done := strings.TrimSuffix(work, ".work") + ".done"
	if err := os.WriteFile(done, []byte(`{"pages": 3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	defer serve(t, d.Brokers, dir)()
	printed, err := client.Result[struct{ Pages int }](ctx, run, "printed")
	if err != nil || printed.Pages != 3 {
		t.Errorf("%+v, %v", printed, err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*.work")); err != nil || len(files) != 1 {
		t.Errorf("the box has %q, %v", files, err)
	}
}

// serve runs a worker until it is stopped.
func serve(t *testing.T, brokers []string, dir string) (stop func()) {
	t.Helper()
	w, err := worker.New(worker.Options{Brokers: brokers})
	if err != nil {
		t.Fatal(err)
	}
	worker.Serve(w, "print", box.Box(dir), worker.ServeOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// found waits for the work in a box.
func found(t *testing.T, dir string) string {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(dir, "*.work"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) > 0 {
			return files[0]
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was handed over")
		}
	}
}
