package executor

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const (
	// obeyFor is what a program gets to end in, once it is asked to. A worker that must stop waits for twice as long.
	obeyFor = 500 * time.Millisecond
	// closeFor is how long its output is read on behind its end, should a process that it has left behind hold it open.
	closeFor = 500 * time.Millisecond
)

// runGroup runs a program in a process group of its own, and ends all of the group: when ctx ends it is asked to
// (SIGTERM) and then killed, and what the program leaves behind is killed, too. Nothing of it outlives the call, and on
// Linux the program does not outlive the process.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	runtime.LockOSThread() // on Linux the program ends with the thread that has started it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = inGroup()
	cmd.WaitDelay = closeFor
	if err := cmd.Start(); err != nil {
		return err
	}
	group := -cmd.Process.Pid
	over := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		_ = syscall.Kill(group, syscall.SIGTERM) // ESRCH: it has ended meanwhile
		kill := time.NewTimer(obeyFor)
		defer kill.Stop()
		select {
		case <-over:
		case <-kill.C:
			_ = syscall.Kill(group, syscall.SIGKILL) // the same
		}
	}()
	err := cmd.Wait()
	close(over)
	<-watched
	_ = syscall.Kill(group, syscall.SIGKILL) // ESRCH: it has left nothing behind
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it has ended well, and what it left behind wrote on
	}
	return err
}

// head keeps what is written up to a limit, and tells when there is more.
type head struct {
	limit int64
	over  func()
	kept  bytes.Buffer
}

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	if room := h.limit - int64(h.kept.Len()); int64(len(p)) > room {
		h.over()
		h.kept.Write(p[:room])
		return len(p), nil
	}
	return h.kept.Write(p)
}

// tail keeps the last of what is written, up to maxQuoted bytes.
type tail struct{ kept []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-maxQuoted):]...)
	if n := len(t.kept) - maxQuoted; n > 0 {
		t.kept = append(t.kept[:0], t.kept[n:]...)
	}
	return len(p), nil
}
