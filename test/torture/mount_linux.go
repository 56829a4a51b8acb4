package main

import (
	"fmt"
	"syscall"
)

// mount mounts a tmpfs, which only root may.
func mount(dir string, mib int) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0755", mib))
}

// unmount detaches it; it goes when its last file is closed.
func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
