package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// operation is a command to many workflows, as it is kept while it is not done: a file
// of its own, in operationsDir.
type operation struct {
	ID    string    `json:"operation"`
	Order bulkOrder `json:"order"`
	Where string    `json:"where"`
	Rate  float64   `json:"rate"` // commands a second; 0: no limit
	Total int       `json:"total,omitempty"`

	Cursor  string    `json:"cursor,omitempty"` // behind which it goes on
	Tally   tally     `json:"tally"`
	Stopped bool      `json:"stopped,omitempty"` // nothing was in hand when this was written
	Saved   time.Time `json:"saved"`
}

// recognised is how long planners know that they have done a command, if nothing else is
// set (--dedupe-window).
const recognised = 24 * time.Hour

// operationsDir is where operations are kept: $XDG_STATE_HOME/heddle/operations, which
// is ~/.local/state/heddle/operations where that is not set.
func operationsDir() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the directory of operations: %w; set XDG_STATE_HOME", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "heddle", "operations"), nil
}

func operationFile(id string) (string, error) {
	dir, err := operationsDir()
	return filepath.Join(dir, id+".json"), err
}

var operationID = regexp.MustCompile(`^op-[a-z0-9]{1,64}$`)

// resumed is an operation to go on with.
func resumed(id, command string, now time.Time) (*operation, error) {
	if !operationID.MatchString(id) {
		return nil, usageError("--resume %q is not an operation; it is printed when one begins, as op-…", id)
	}
	file, err := operationFile(id)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError("there is no operation %s to go on with in %s; it is done, or was begun elsewhere", id, filepath.Dir(file))
	}
	op := &operation{}
	if err == nil {
		err = json.Unmarshal(b, op)
	}
	if err != nil {
		return nil, fmt.Errorf("reading operation %s: %w", id, err)
	}
	switch age := now.Sub(op.Saved); {
	case op.ID != id:
		return nil, fmt.Errorf("reading operation %s: %s is of %q", id, file, op.ID)
	case op.Order.Command != command:
		return nil, usageError("operation %s is a %s; go on with: heddle %s --resume %s", id, op.Order.Command, op.Order.Command, id)
	case !op.Stopped && age > recognised:
		return nil, usageError("operation %s was killed %s ago. Planners know for %s that they have done a command, so the last of it could be done twice; begin another one with --where, and remove %s",
			id, age.Round(time.Hour), recognised, file)
	}
	return op, nil
}

// save writes the operation, whole or not at all.
func (o *operation) save() error {
	file, err := operationFile(o.ID)
	if err != nil {
		return err
	}
	o.Saved = time.Now()
	b, err := json.Marshal(o)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = writeSynced(file+".new", b)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return fmt.Errorf("keeping operation %s: %w", o.ID, err)
	}
	return nil
}

// writeSynced writes a file that is whole also behind a power cut that follows its renaming.
func writeSynced(file string, b []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

// remove forgets an operation that is done.
func (o *operation) remove() error {
	file, err := operationFile(o.ID)
	if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		return fmt.Errorf("forgetting operation %s: %w", o.ID, err)
	}
	return nil
}
