// Package box is an adapter that hands work over through a directory: each work is a file that something else picks up, as a
// printer, a batch system or a person does, and answers with another file beside it.
//
//	KEY.work      the input
//	KEY.done      the result, as JSON: whoever does the work writes KEY.part and renames that
//	KEY.failed    why there is none
//	KEY.cancelled the work is not wanted any more
package box

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/task"
)

// Box is a directory that exists. Executors and whoever does the work share it.
type Box string

// Dispatch implements executor.Adapter. The name of the file is the key: what is there is not begun again.
func (b Box) Dispatch(ctx context.Context, w executor.Work) (executor.Answer, error) {
	if ctx.Err() != nil {
		return executor.Answer{}, context.Cause(ctx)
	}
	if err := b.write(w.Key+".work", w.Input); err != nil {
		return executor.Answer{}, err
	}
	return executor.Accepted(""), nil // the key is enough to find it
}

// Cancel implements executor.Adapter. It is asked about all attempts of the deployment that are cancelled: what never
// was leaves no file.
func (b Box) Cancel(ctx context.Context, ref executor.Ref) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, err := os.Stat(b.path(ref.Key + ".work")); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	return b.write(ref.Key+".cancelled", nil)
}

// Recover implements executor.Adapter.
func (b Box) Recover(ctx context.Context, refs []executor.Ref) ([]executor.State, error) {
	states := make([]executor.State, len(refs))
	for i, ref := range refs {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var err error
		if states[i], err = b.state(ref.Key); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// state looks for the end of a work first, then whether it is wanted, then whether there is one.
func (b Box) state(key string) (executor.State, error) {
	for _, end := range []struct {
		suffix string
		state  func(content []byte) executor.State
	}{
		{".done", func(result []byte) executor.State { return executor.Completed(result) }},
		{".failed", func(why []byte) executor.State {
			return executor.Failed(&task.Error{Type: "box_failed", Message: string(why)})
		}},
		{".cancelled", func([]byte) executor.State {
			return executor.Failed(&task.Error{Type: "box_cancelled", Message: "it was not wanted any more"})
		}},
		{".work", func([]byte) executor.State { return executor.Running() }},
	} {
		content, err := os.ReadFile(b.path(key + end.suffix))
		switch {
		case err == nil:
			return end.state(content), nil
		case !errors.Is(err, os.ErrNotExist):
			return executor.State{}, err
		}
	}
	return executor.Unknown(), nil
}

// write makes a file, unless there is one: whole or not at all.
func (b Box) write(name string, content []byte) error {
	part, err := os.CreateTemp(string(b), name+".part-*")
	if err != nil {
		return fmt.Errorf("handing over: %w", err)
	}
	defer os.Remove(part.Name()) // what is left of it is no work
	_, err = part.Write(content)
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return fmt.Errorf("handing over: %w", err)
	}
	if err := os.Link(part.Name(), b.path(name)); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("handing over: %w", err)
	}
	return nil
}

func (b Box) path(name string) string { return filepath.Join(string(b), name) }
