package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// tmpfsMagic is the type by which statfs knows a file system in memory.
const tmpfsMagic = 0x01021994

// checkOnDisk returns an error if dir is in memory: an fsync costs nothing there.
func checkOnDisk(dir string) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if s.Type == tmpfsMagic {
		return fmt.Errorf("%s is in memory (tmpfs), where durability costs nothing: set PEERS_DIR to a directory on a disk", dir)
	}
	return nil
}

// writtenToDevice returns the bytes ever written to the block device that holds dir, 0
// if the kernel does not count them. write_bytes of /proc/PID/io is no alternative: it
// counts a whole large folio for every small write, 20 times the WAL of PostgreSQL.
func writtenToDevice(dir string) (int64, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	stats, err := os.ReadFile("/proc/diskstats")
	if err != nil {
		return 0, err
	}
	device := info.Sys().(*syscall.Stat_t).Dev
	major := strconv.FormatUint((device>>8)&0xfff, 10)
	minor := strconv.FormatUint(device&0xff, 10)
	for line := range strings.Lines(string(stats)) {
		fields := strings.Fields(line)
		if len(fields) > 9 && fields[0] == major && fields[1] == minor {
			return int64(number(fields[9])) * 512, nil
		}
	}
	return 0, nil
}

// allocated adds up the allocated blocks of the regular files at and below the paths.
// A path that does not exist, or vanishes meanwhile, counts as zero.
func allocated(paths ...string) (int64, error) {
	var sum int64
	for _, path := range paths {
		err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return ignoreMissing(err)
			}
			info, err := d.Info()
			if err != nil {
				return ignoreMissing(err)
			}
			if info.Mode().IsRegular() {
				sum += info.Sys().(*syscall.Stat_t).Blocks * 512
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sqliteUse is the disk use of a SQLite database with its journals.
func sqliteUse(file string) (DiskUse, error) {
	stored, err := allocated(file, file+"-wal", file+"-shm", file+"-journal")
	return DiskUse{Stored: stored}, err
}
