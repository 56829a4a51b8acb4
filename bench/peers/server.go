package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// server is a child process that writes to a log file.
type server struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
	log    string
}

// startServer starts a program that outlives ctx. It has a process group of its own:
// an interrupt from the terminal reaches this process only, which then stops it.
func startServer(ctx context.Context, log string, env []string, name string, args ...string) (s *server, err error) {
	f, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, args...)
	cmd.Stdout, cmd.Stderr = f, f
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server (has the setup script installed it?): %w", err)
	}
	s = &server{cmd: cmd, exited: make(chan struct{}), log: log}
	go func() {
		_ = cmd.Wait() // a server that is told to end may well exit with a failure
		close(s.exited)
	}()
	return s, nil
}

// pids returns the server's process, none before it has started.
func (s *server) pids() []int {
	if s == nil {
		return nil
	}
	return []int{s.cmd.Process.Pid}
}

// running returns an error if the process has ended.
func (s *server) running() error {
	select {
	case <-s.exited:
		return fmt.Errorf("the server exited: see %s", s.log)
	default:
		return nil
	}
}

// stop ends the process with SIGTERM, or with SIGKILL after the grace period.
func (s *server) stop(grace time.Duration) error {
	if s == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.exited:
		return nil
	case <-time.After(grace):
	}
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.exited
	return nil
}

// waitForPorts waits until something listens on each address, or the server has ended.
func (s *server) waitForPorts(ctx context.Context, limit time.Duration, addrs ...string) error {
	for _, addr := range addrs {
		err := retry(ctx, limit, 50*time.Millisecond, func() error {
			if err := s.running(); err != nil {
				return fatal{err}
			}
			conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
			if err != nil {
				return err
			}
			return conn.Close()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fatal is an error that retry returns at once.
type fatal struct{ error }

// Unwrap implements errors.Unwrap.
func (f fatal) Unwrap() error { return f.error }

// retry calls f until it succeeds, returns a fatal error, or the limit has passed.
// It returns the last error.
func retry(ctx context.Context, limit, pause time.Duration, f func() error) error {
	for end := time.Now().Add(limit); ; {
		err := f()
		if err == nil || errors.As(err, &fatal{}) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("after %v: %w", limit, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// checkPortsFree returns an error if something listens already: the run would
// measure a wrong server.
func checkPortsFree(ctx context.Context, addrs ...string) error {
	for _, addr := range addrs {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err != nil {
			return fmt.Errorf("the run needs %s: %w", addr, err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// within waits for f, but not longer than the limit. An engine's shutdown may hang.
func within(limit time.Duration, what string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return fmt.Errorf("%s: not finished after %v", what, limit)
	}
}
