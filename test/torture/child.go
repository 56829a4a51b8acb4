package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/heddle-run/heddle/internal/dev/devfile"
)

// child is the heddle process that is killed. One goroutine uses it.
type child struct {
	binary, dir, http, kafka string
	log                      io.Writer

	cmd     *exec.Cmd
	started time.Time
	exited  chan error
}

// partitions of the deployment.
const partitions = 8

func newChild(o options, dir string) (*child, error) {
	c := &child{binary: o.heddle, dir: filepath.Join(dir, "data")}
	for _, addr := range []*string{&c.http, &c.kafka} {
		var err error
		if *addr, err = freeAddress(); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(filepath.Join(dir, "heddle.log"))
	if err != nil {
		return nil, fmt.Errorf("making the child's log: %w", err)
	}
	c.log = log
	if o.verbose {
		c.log = io.MultiWriter(log, os.Stderr)
	}
	return c, nil
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

// start starts the process and does not wait until it is ready.
func (c *child) start() error {
	c.cmd = exec.Command(c.binary, "dev", "--data", c.dir, "--http", c.http, "--kafka", c.kafka,
		"--partitions", strconv.Itoa(partitions), "--log-level", "warn")
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", c.binary, err)
	}
	c.started = time.Now()
	exited, cmd := make(chan error, 1), c.cmd
	c.exited = exited
	go func() { exited <- cmd.Wait() }()
	return nil
}

// kill ends the process without warning and waits until it is gone.
func (c *child) kill() {
	if c.cmd == nil {
		return
	}
	// A process that has ended by itself needs no killing.
	_ = c.cmd.Process.Kill()
	<-c.exited //nolint:errcheck // it was killed
	c.cmd = nil
}

// stop ends the process as an operator would.
func (c *child) stop(limit time.Duration) error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("sending SIGTERM: %w", err)
	}
	select {
	case err := <-c.exited:
		c.cmd = nil
		if err != nil {
			return fmt.Errorf("the child ended with: %w", err)
		}
		return nil
	case <-time.After(limit):
		return fmt.Errorf("the child did not stop within %s", limit)
	}
}

// ready waits until the gateway says that the deployment is ready, and tells
// how long that took since the start.
func (c *child) ready(ctx context.Context, limit time.Duration) (time.Duration, error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last := errors.New("it was not asked")
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case err := <-c.exited:
			return 0, fmt.Errorf("the child ended by itself: %w; see %s", err, filepath.Join(filepath.Dir(c.dir), "heddle.log"))
		case <-deadline.C:
			return 0, fmt.Errorf("not ready after %s: %w", limit, last)
		case <-tick.C:
		}
		if last = c.askReady(ctx); last == nil {
			return time.Since(c.started), nil
		}
	}
}

func (c *child) askReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.http+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(strconv.Itoa(resp.StatusCode) + ": " + string(body))
	}
	file, err := devfile.Read(c.dir)
	if err != nil {
		return err
	}
	if file.PID != c.cmd.Process.Pid {
		return fmt.Errorf("dev.json is of process %d, not of %d", file.PID, c.cmd.Process.Pid)
	}
	return nil
}
