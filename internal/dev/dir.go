package dev

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrInUse is a data directory that another process has open.
var ErrInUse = errors.New("another heddle dev uses this data directory; stop it, or give this one another with --data")

// dataDir is a data directory that this process has locked.
type dataDir struct {
	path      string
	lock      *os.File
	temporary bool // removed when it is closed
}

// openDir makes the directory if it is missing and locks it. An empty path is a
// temporary directory.
func openDir(path string) (*dataDir, error) {
	d := &dataDir{temporary: path == ""}
	var err error
	if d.path, err = made(path); err != nil {
		return nil, err
	}
	if d.lock, err = os.OpenFile(d.join("lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, fmt.Errorf("locking the data directory: %w", err)
	}
	// The kernel gives the lock back when the process dies, however it dies.
	err = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return d, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrInUse
	}
	return nil, errors.Join(fmt.Errorf("locking %s: %w", d.path, err), d.lock.Close())
}

// made makes the directory and returns its absolute path: the process may change its
// working directory while the services open files.
func made(path string) (string, error) {
	if path == "" {
		dir, err := os.MkdirTemp("", "heddle-dev-")
		if err != nil {
			return "", fmt.Errorf("making a temporary directory: %w", err)
		}
		return dir, nil
	}
	path, err := filepath.Abs(path)
	if err == nil {
		err = os.MkdirAll(path, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("making the data directory: %w", err)
	}
	return path, nil
}

func (d *dataDir) join(name string) string { return filepath.Join(d.path, name) }

// close gives the directory back.
func (d *dataDir) close() error {
	err := d.lock.Close()
	if d.temporary {
		err = errors.Join(err, os.RemoveAll(d.path))
	}
	return err
}

const tokenBytes = 32

// tokenKey is the deployment's secret, made at the first start.
func (d *dataDir) tokenKey() (string, error) {
	file := d.join("token.key")
	b, err := os.ReadFile(file)
	if err == nil {
		key := strings.TrimSpace(string(b))
		if raw, err := hex.DecodeString(key); err != nil || len(raw) != tokenBytes {
			return "", fmt.Errorf("%s holds no key of %d bytes in hex", file, tokenBytes)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the token key: %w", err)
	}
	var raw [tokenBytes]byte
	rand.Read(raw[:])
	key := hex.EncodeToString(raw[:])
	// A key that is only half written must not be taken for one.
	if err := os.WriteFile(file+".new", []byte(key+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("writing the token key: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return "", fmt.Errorf("writing the token key: %w", err)
	}
	return key, nil
}
