// Package devfile is the note that `heddle dev` leaves in its data directory,
// so that the command line and the SDKs find a running deployment by
// themselves: DIR/dev.json, usually ./.heddle/dev.json.
package devfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is the data directory of `heddle dev` when none is named.
const Dir = ".heddle"

// Name is the file's name in the data directory.
const Name = "dev.json"

// The addresses that `heddle dev` and `heddle broker` try first where none is named:
// where no note is found, a deployment is looked for there.
const (
	HTTP  = "127.0.0.1:4080"
	Kafka = "127.0.0.1:4092"
)

// File is the content: where a running deployment is.
type File struct {
	URL     string   `json:"url"`     // of the gateway
	Brokers []string `json:"brokers"` // of the embedded broker
	Prefix  string   `json:"prefix"`  // of its topics
	PID     int      `json:"pid"`     // of the process
}

// ErrNone says that no running deployment was found.
var ErrNone = errors.New("no running `heddle dev` found")

// Write replaces the file in a data directory at once: a reader sees the old
// one or the new one.
func Write(dir string, f File) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", Name, err)
	}
	tmp := filepath.Join(dir, Name+".new")
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", Name, err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, Name)); err != nil {
		return fmt.Errorf("writing %s: %w", Name, err)
	}
	return nil
}

// Remove takes the file away; one that is not there is no error.
func Remove(dir string) error {
	if err := os.Remove(filepath.Join(dir, Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", Name, err)
	}
	return nil
}

// Read reads the file of a data directory. Its error is ErrNone when there is
// none.
func Read(dir string) (File, error) {
	b, err := os.ReadFile(filepath.Join(dir, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, fmt.Errorf("%w: there is no %s", ErrNone, filepath.Join(dir, Name))
	}
	if err != nil {
		return File{}, fmt.Errorf("reading %s: %w", Name, err)
	}
	var f File
	if err := json.Unmarshal(b, &f); err != nil {
		return File{}, fmt.Errorf("reading %s: %w", filepath.Join(dir, Name), err)
	}
	return f, nil
}

// Find reads the file in .heddle of from, or of the nearest directory above it
// that has one. Its error is ErrNone when none has.
func Find(from string) (File, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return File{}, fmt.Errorf("finding %s: %w", Name, err)
	}
	for dir := from; ; dir = filepath.Dir(dir) {
		f, err := Read(filepath.Join(dir, Dir))
		if err == nil || !errors.Is(err, ErrNone) {
			return f, err
		}
		if dir == filepath.Dir(dir) {
			return File{}, fmt.Errorf("%w in %s or above it", ErrNone, from)
		}
	}
}

// Usual is where a deployment is that nobody has noted.
func Usual() File { return File{URL: "http://" + HTTP, Brokers: []string{Kafka}} }

// Running is what Find finds from the working directory on, else Usual.
func Running() (File, error) {
	f, err := Find(".")
	if errors.Is(err, ErrNone) {
		return Usual(), nil
	}
	return f, err
}
