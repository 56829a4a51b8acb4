package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/embedded"
)

// children are programs that end without an orderly Close.
var children = map[string]func(ctx context.Context, dir string) error{"exits": exits, "full": full, "starts full": startsFull}

// child runs one of them on a directory.
func child(t *testing.T, ctx context.Context, what, dir string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+what+"|"+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// exits is a program that ends while its workflow runs.
func exits(ctx context.Context, dir string) error {
	r, err := embedded.Open(ctx, doubles(embedded.Options{Dir: dir}))
	if err != nil {
		return err
	}
	_, err = r.Client.Start(ctx, doubling, 21, client.StartOptions{ID: "a"})
	return err
}

func TestAProgramThatEndsWithoutCloseLosesNothing(t *testing.T) {
	ctx, dir := within(t), t.TempDir()
	child(t, ctx, "exits", dir)
	doubled(t, ctx, open(t, ctx, doubles(embedded.Options{Dir: dir})), "a", 42)
}

// limitFiles has writes that make a file longer fail, as those to a full disk do.
func limitFiles(bytes uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes})
}

// full is a program whose disk is full at once. It is told so, and Close does not hang.
func full(ctx context.Context, dir string) error {
	r, err := embedded.Open(ctx, doubles(embedded.Options{Dir: dir}))
	if err != nil {
		return err
	}
	if _, err := r.Client.Start(ctx, doubling, 21, client.StartOptions{ID: "a"}); err != nil {
		return err
	}
	if err := limitFiles(1); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := r.Wait(patience); !errors.Is(err, embedded.ErrFailed) {
		return fmt.Errorf("Wait: %w", err)
	}
	if err := r.Close(); !errors.Is(err, embedded.ErrFailed) {
		return fmt.Errorf("Close: %w", err)
	}
	return nil
}

// Once there is room again, the next Open goes on with what was acknowledged.
func TestAFullDiskIsTold(t *testing.T) {
	ctx, dir := within(t), t.TempDir()
	child(t, ctx, "full", dir)
	doubled(t, ctx, open(t, ctx, doubles(embedded.Options{Dir: dir})), "a", 42)
}

// startsFull is a program that is started on a full disk. Whatever fails first, it is told.
func startsFull(ctx context.Context, dir string) error {
	if err := limitFiles(30_000); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := embedded.Open(patience, doubles(embedded.Options{Dir: dir}))
	if err == nil {
		return errors.Join(errors.New("it has started"), r.Close())
	}
	if errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "file too large") {
		return fmt.Errorf("the error does not say what is wrong: %w", err)
	}
	return nil
}

func TestAStartOnAFullDiskSaysSo(t *testing.T) {
	ctx, dir := within(t), t.TempDir()
	child(t, ctx, "starts full", dir)
	open(t, ctx, doubles(embedded.Options{Dir: dir}))
}
