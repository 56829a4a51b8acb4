package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// turns let one attempt at a time of an executor type into a pane.
type turns struct {
	mu   sync.Mutex
	each map[string]*turn
}

type turn struct {
	free  chan struct{} // has a token while nobody types
	users int           // who types or waits
}

// enter waits for the turn of a pane; leave ends it.
func (t *turns) enter(ctx context.Context, pane string) (leave func(), err error) {
	t.mu.Lock()
	if t.each == nil {
		t.each = map[string]*turn{}
	}
	own := t.each[pane]
	if own == nil {
		own = &turn{free: make(chan struct{}, 1)}
		own.free <- struct{}{}
		t.each[pane] = own
	}
	own.users++
	t.mu.Unlock()
	select {
	case <-own.free:
		return func() { own.free <- struct{}{}; t.drop(pane, own) }, nil
	case <-ctx.Done():
		t.drop(pane, own)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) drop(pane string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.each, pane)
	}
}

// lockFiles is how many files a tmux server's executors have for their locks at most. Panes whose numbers are alike in it share one, so their
// deliveries wait for one another.
const lockFiles = 64

// lockEvery is how often an executor looks whether another one is still at a pane.
const lockEvery = 20 * time.Millisecond

// lockPane waits until no other executor of this machine types into a pane, and keeps all others away until it is unlocked. The lock is of a file
// beside the server's socket, whose path is the same for all who reach the server: the kernel releases it with the process, however that
// ends. The file stays, as one that others may wait for must.
func lockPane(ctx context.Context, socket, pane string) (unlock func() error, err error) {
	number, err := strconv.ParseUint(strings.TrimPrefix(pane, "%"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the pane %q has no number: %w", pane, err)
	}
	path := fmt.Sprintf("%s.heddle-%d", socket, number%lockFiles)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the file that keeps two executors from typing into one pane: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
		}
		if err := pause(ctx, lockEvery); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}
