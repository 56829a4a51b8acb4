//go:build !synctests

package equivalence

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// TestMain runs these tests as they are with kgo's tag: without it kgo holds a
// mutex while it asks a broker, and a goroutine that waits for that stops the virtual clock.
// `make test` builds with the tag at once.
func TestMain(*testing.M) {
	code, err := tagged()
	if err != nil {
		fmt.Fprintln(os.Stderr, "these tests need -tags synctests:", err)
		code = 1
	}
	os.Exit(code)
}

// tagged builds the tests with the tag and runs them with the same arguments.
func tagged() (code int, err error) {
	dir, err := os.MkdirTemp("", "equivalence")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	bin := filepath.Join(dir, "equivalence.test")
	build := []string{"test", "-c", "-tags", "synctests", "-o", bin}
	if raced() {
		build = append(build, "-race")
	}
	if out, err := exec.Command("go", append(build, ".")...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building them: %w\n%s", err, out)
	}
	run := exec.Command(bin, os.Args[1:]...)
	run.Stdout, run.Stderr = os.Stdout, os.Stderr
	if err := run.Run(); err != nil && run.ProcessState == nil {
		return 0, err
	}
	return run.ProcessState.ExitCode(), nil
}

// raced reports whether this was built with the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}
