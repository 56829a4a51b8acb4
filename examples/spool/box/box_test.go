package box_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/examples/spool/box"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/executortest"
)

func TestConformance(t *testing.T) {
	executortest.Run(t, func(t testing.TB) executortest.Place {
		dir := t.TempDir()
		return executortest.Place{
			Open:  func(testing.TB) executor.Adapter { return box.Box(dir) },
			World: &printer{t, dir},
		}
	})
}

// printer does what lies in a box.
type printer struct {
	t   testing.TB
	dir string
}

// Begun implements executortest.World: a work is begun when its file appears.
func (p *printer) Begun(key string) (int, json.RawMessage) {
	input, err := os.ReadFile(filepath.Join(p.dir, key+".work"))
	if err != nil {
		return 0, nil
	}
	return 1, input
}

// End implements executortest.World.
func (p *printer) End(key string, result json.RawMessage, failure string) {
	name, content := key+".done", []byte(result)
	if failure != "" {
		name, content = key+".failed", []byte(failure)
	}
	part := filepath.Join(p.dir, key+".part")
	if err := os.WriteFile(part, content, 0o600); err != nil {
		p.t.Error(err)
	}
	if err := os.Rename(part, filepath.Join(p.dir, name)); err != nil {
		p.t.Error(err)
	}
}

// Forget implements executortest.World.
func (p *printer) Forget(t testing.TB, key string) {
	files, err := filepath.Glob(filepath.Join(p.dir, key+".*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("of %s there is %q, %v", key, files, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}

// Nothing half written is ever taken for a work.
func TestABoxHasWholeFilesOnly(t *testing.T) {
	dir := t.TempDir()
	if _, err := box.Box(dir).Dispatch(t.Context(), executor.Work{Key: "k", Input: json.RawMessage(`7`)}); err != nil {
		t.Fatal(err)
	}
	if err := box.Box(dir).Cancel(t.Context(), executor.Ref{Key: "another"}); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "k.work" {
		t.Errorf("the box has %v, %v", files, err)
	}
	if _, err := box.Box(filepath.Join(dir, "none")).Dispatch(t.Context(), executor.Work{Key: "k"}); err == nil || !strings.Contains(err.Error(), "handing over") {
		t.Errorf("without its directory it says %v", err)
	}
}
