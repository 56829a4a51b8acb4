package devfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/heddle-run/heddle/internal/dev/devfile"
)

func TestTheFileIsFoundFromBelow(t *testing.T) {
	root := t.TempDir()
	data, below := filepath.Join(root, devfile.Dir), filepath.Join(root, "a", "b")
	for _, dir := range []string{data, below} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := devfile.Find(below); !errors.Is(err, devfile.ErrNone) {
		t.Fatalf("found before it was written: %v", err)
	}
	want := devfile.File{URL: "http://127.0.0.1:4080", Brokers: []string{"127.0.0.1:4092"}, Prefix: "heddle.", PID: 7}
	if err := devfile.Write(data, want); err != nil {
		t.Fatal(err)
	}
	got, err := devfile.Find(below)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("found %+v, %v; want %+v", got, err, want)
	}
	for range 2 { // removing again is no error
		if err := devfile.Remove(data); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := devfile.Read(data); !errors.Is(err, devfile.ErrNone) {
		t.Fatalf("still there: %v", err)
	}
}

func TestAFileThatIsNoJSONIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, devfile.Name), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := devfile.Read(dir); err == nil || errors.Is(err, devfile.ErrNone) {
		t.Fatalf("got %v, want an error that is not ErrNone", err)
	}
}
