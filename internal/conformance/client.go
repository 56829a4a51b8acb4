package conformance

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// process is one of the client that is tried.
type process struct {
	cmd  *exec.Cmd
	out  tail
	done chan struct{} // closed when it has exited
	err  error         // of its end, once done is closed
}

// tail keeps the end of what is written.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const tailSize = 4 << 10

// Write implements io.Writer.
func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = append(w.end, b...)
	if over := len(w.end) - tailSize; over > 0 {
		w.end = append([]byte(nil), w.end[over:]...)
	}
	return len(b), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.end)
}

const (
	poolName  = "conformance"
	runnerKey = "key of a runner/1"
	token     = "a token, with ü"
)

// start starts the client.
func (t *trial) start() {
	o := t.options
	c := &process{done: make(chan struct{}), cmd: exec.CommandContext(t.ctx, o.Command[0], o.Command[1:]...)}
	c.cmd.Env = append(os.Environ(), o.Env...)
	for name, value := range map[string]string{
		EnvURL: t.server.url(), EnvPool: poolName, EnvKey: runnerKey, EnvToken: token,
		EnvEncoding: o.Encoding.String(), EnvScale: strconv.FormatFloat(o.Scale, 'f', -1, 64),
	} {
		c.cmd.Env = append(c.cmd.Env, name+"="+value)
	}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	c.cmd.WaitDelay = time.Second
	if err := c.cmd.Start(); err != nil {
		t.fail("the client does not start: %v", err)
	}
	t.client = c
	go func() {
		defer close(c.done)
		c.err = c.cmd.Wait()
	}()
}

// signal asks the client for something.
func (t *trial) signal(s os.Signal) {
	if err := t.client.cmd.Process.Signal(s); err != nil {
		t.fail("the client takes no signal: %v", err)
	}
}

// exited waits for the end of the client: with 0, or with another code.
func (t *trial) exited(zero bool) {
	select {
	case <-t.client.done:
	case <-time.After(patience):
		t.fail("the client does not exit")
	}
	_, failed := errors.AsType[*exec.ExitError](t.client.err)
	t.check(zero == (t.client.err == nil) && (zero || failed), "the client exits with %v", t.client.err)
}

// alive ends the case if the client has exited.
func (t *trial) alive() {
	select {
	case <-t.client.done:
		t.fail("the client exits: %v", t.client.err)
	default:
	}
}

// kill ends the client, whatever it does.
func (c *process) kill() {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return // it is gone; Wait says so
	}
	<-c.done
}
