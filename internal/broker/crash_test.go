package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CrashImage copies the data directory as a kill of the process would leave it
// now: everything that was acknowledged is in it, what an orderly Close saves
// is not. A broker started on the copy is the one after the crash. It is for
// tests; the broker goes on.
func (b *Broker) CrashImage(ctx context.Context, to string) error {
	if b.opts.Dir == "" {
		return errors.New("a broker in memory leaves no image")
	}
	err := b.exclusively(ctx, func() error {
		return filepath.WalkDir(b.opts.Dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(b.opts.Dir, path)
			if err != nil || rel == lockFile {
				return err
			}
			target := filepath.Join(to, rel)
			if d.IsDir() {
				return os.MkdirAll(target, 0o755)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(target, data, 0o644)
		})
	})
	if err != nil {
		return fmt.Errorf("copy the broker's data directory: %w", err)
	}
	return nil
}
