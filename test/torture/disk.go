package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// disk is a small file system that can be filled, so that a process that writes to it
// gets ENOSPC, and freed again.
type disk struct {
	dir  string
	full bool
}

// newDisk mounts a file system of so many MiB.
func newDisk(dir string, mib int) (*disk, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making a disk: %w", err)
	}
	if err := mount(dir, mib); err != nil {
		return nil, fmt.Errorf("mounting a tmpfs of %d MiB to fill (root may; --disk 0 does without full disks): %w", mib, err)
	}
	return &disk{dir: dir}, nil
}

// unmount removes the file system with what is on it.
func (d *disk) unmount() error { return unmount(d.dir) }

// save copies what is on it to a directory beside it.
func (d *disk) save() error {
	if err := d.free(); err != nil {
		return err
	}
	if err := os.CopyFS(d.dir+"-saved", os.DirFS(d.dir)); err != nil {
		return fmt.Errorf("saving what is on a disk: %w", err)
	}
	return nil
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill writes a file until not a byte is left.
func (d *disk) fill() (bytes int64, err error) {
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, fmt.Errorf("filling a disk: %w", err)
	}
	defer f.Close()
	d.full = true
	for _, size := range []int{1 << 20, 4 << 10, 1} {
		for chunk := make([]byte, size); ; {
			n, err := f.Write(chunk)
			bytes += int64(n)
			if errors.Is(err, syscall.ENOSPC) {
				break
			}
			if err != nil {
				return bytes, fmt.Errorf("filling a disk: %w", err)
			}
		}
	}
	return bytes, nil
}

// free removes the file.
func (d *disk) free() error {
	d.full = false
	if err := os.Remove(d.ballast()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("freeing a disk: %w", err)
	}
	return nil
}
