package events_test

import (
	"encoding/hex"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/wire"
)

var writeGolden = flag.Bool("write-golden", false, "write the golden bytes of messages that have none; never overwrites")

const goldenDir = "testdata/v1"

// A golden file holds bytes as they stand in topics of version 1 and what they
// mean: a line of JSON, a line of hex. They are in somebody's journal for ever,
// so a file is written once and never changed.
func writeOnce(t *testing.T, path string, m wire.Message) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(string(wire.ToJSON(m)) + "\n" + hex.EncodeToString(wire.Marshal(m)) + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func readGolden(t *testing.T, path string) (meaning string, bytes []byte) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 3 || lines[2] != "" {
		t.Fatalf("%s has not two lines", path)
	}
	bytes, err = hex.DecodeString(lines[1])
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return lines[0], bytes
}

func TestEveryMessageHasGoldenBytes(t *testing.T) {
	for name, m := range samples() {
		path := filepath.Join(goldenDir, name+".golden")
		if *writeGolden {
			writeOnce(t, path, m)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%v: write it with `go test ./shared/events -run Golden -write-golden`", err)
		}
	}
}

func TestGoldenBytesKeepTheirMeaning(t *testing.T) {
	all := samples()
	files, err := filepath.Glob(filepath.Join(goldenDir, "*.golden"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden bytes: %v", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".golden")
		t.Run(name, func(t *testing.T) {
			meaning, bytes := readGolden(t, path)
			sample, ok := all[name]
			if !ok {
				t.Fatal("there is no such message any more; journals of version 1 hold it")
			}
			m := reflect.New(reflect.TypeOf(sample).Elem()).Interface().(wire.Message)
			if err := wire.Unmarshal(bytes, m); err != nil {
				t.Fatalf("its bytes cannot be read any more: %v", err)
			}
			if got := string(wire.ToJSON(m)); got != meaning {
				t.Errorf("its bytes mean\n%s\nthey meant\n%s", got, meaning)
			}
			if got := hex.EncodeToString(wire.Marshal(m)); got != hex.EncodeToString(bytes) {
				t.Errorf("it is written as\n%s\nit was\n%x", got, bytes)
			}
		})
	}
}

func TestGoldenBytesAreNeverOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "X.golden")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, m := range samples() {
		writeOnce(t, path, m)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
		t.Fatalf("the file is now %q, %v", b, err)
	}
}
