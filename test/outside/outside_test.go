// Package outside tests that a program in a module of its own can be written with the
// SDK: it is built and run as somebody else would, against a `heddle dev`.
package outside

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/internal/dev/devfile"
)

// program copies the program into a module outside, whose dependencies are those of
// this one, so that no network is needed.
func program(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text := func(path string) string {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	mod := strings.Replace(text(filepath.Join(root, "go.mod")), "module github.com/heddle-run/heddle", "module example.com/outside", 1)
	mod += "\nrequire github.com/heddle-run/heddle v0.0.0\nreplace github.com/heddle-run/heddle => " + root + "\n"
	for name, content := range map[string]string{
		"go.mod": mod, "go.sum": text(filepath.Join(root, "go.sum")), "main.go": text("testdata/program/main.go"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAProgramOutsideUsesTheSDK(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	d, err := dev.Start(ctx, dev.Options{Memory: true, Partitions: 2, Queues: []string{"outside"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}()
	dir := program(t)
	note := filepath.Join(dir, devfile.Dir)
	if err := os.Mkdir(note, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := devfile.Write(note, devfile.File{URL: d.URL, Brokers: d.Brokers, Prefix: d.Prefix}); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-o", "program", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("it does not build: %v\n%s", err, out)
	}
	run := exec.CommandContext(ctx, filepath.Join(dir, "program"))
	run.Dir = dir
	out, err := run.CombinedOutput()
	if want := "counted 2\nfailed empty\n"; err != nil || string(out) != want {
		t.Fatalf("it ended with %v and said\n%s\nwant\n%s", err, out, want)
	}
}
