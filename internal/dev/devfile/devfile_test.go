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

// Without a note a deployment is expected where `heddle dev` listens if nothing is in
// its way; a note that cannot be read is no reason to ask somebody else.
func TestWithoutANoteTheUsualAddressesAreMeant(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	got, err := devfile.Running()
	if err != nil || got.URL != "http://127.0.0.1:4080" || !reflect.DeepEqual(got.Brokers, []string{"127.0.0.1:4092"}) {
		t.Errorf("without a note it is %+v, %v", got, err)
	}
	want := devfile.File{URL: "http://127.0.0.1:1", Brokers: []string{"127.0.0.1:2"}, Prefix: "mine."}
	data := filepath.Join(root, devfile.Dir)
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := devfile.Write(data, want); err != nil {
		t.Fatal(err)
	}
	if got, err := devfile.Running(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("found %+v, %v; want %+v", got, err, want)
	}
	if err := os.WriteFile(filepath.Join(data, devfile.Name), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := devfile.Running(); err == nil {
		t.Errorf("a broken note leads to %+v", got)
	}
}
