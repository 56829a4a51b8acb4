package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is one process of a deployment: it is started, killed, suspended and
// started again with the same arguments. One goroutine uses it.
type process struct {
	name string
	args []string
	url  string // of what answers /readyz; empty: nothing does
	disk *disk  // that it writes to; nil: none that can be filled

	log     *os.File // of all its lives
	cmd     *exec.Cmd
	started time.Time
	life    int // counts starts
	done    chan struct{}
	ended   chan<- ending // tells of every end
}

// ending is the end of a process's life.
type ending struct {
	of   *process
	life int
	err  error // nil: it ended with exit code 0
}

// running reports whether a life has been started and its end not been taken note of.
func (p *process) running() bool { return p.cmd != nil }

// start starts a life and does not wait until it is ready.
func (p *process) start(binary string) error {
	p.life++
	fmt.Fprintf(p.log, "=== life %d begins at %s\n", p.life, time.Now().Format(clock))
	cmd := exec.Command(binary, p.args...)
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	done, life := make(chan struct{}), p.life
	p.cmd, p.done, p.started = cmd, done, time.Now()
	go func() {
		err := cmd.Wait()
		close(done)
		p.ended <- ending{of: p, life: life, err: err}
	}()
	return nil
}

// signal sends a signal; a process that has ended by itself needs none.
func (p *process) signal(s syscall.Signal) {
	if p.running() {
		_ = p.cmd.Process.Signal(s)
	}
}

// kill ends the process without warning and waits until it is gone.
func (p *process) kill() {
	if !p.running() {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.done
	p.cmd = nil
}

// stop ends the process as an operator would, and wants exit code 0.
func (p *process) stop(by syscall.Signal, limit time.Duration) error {
	if !p.running() {
		return nil
	}
	p.signal(by)
	select {
	case <-p.done:
	case <-time.After(limit):
		return fmt.Errorf("%s did not stop within %s", p.name, limit)
	}
	code := p.cmd.ProcessState.ExitCode()
	p.cmd = nil
	if code != 0 {
		return fmt.Errorf("%s ended with exit code %d when it was told to stop", p.name, code)
	}
	return nil
}

// ready asks /readyz.
func (p *process) ready(ctx context.Context) error {
	if !p.running() {
		return fmt.Errorf("%s does not run", p.name)
	}
	if p.url == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %d: %s", p.name, resp.StatusCode, body)
	}
	return nil
}

// openLog makes the log of a process.
func openLog(dir, name string) (*os.File, error) {
	f, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("making a log: %w", err)
	}
	return f, nil
}

// lastWords is the last line of a process's log.
func (p *process) lastWords() string {
	raw, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return lines[len(lines)-1]
}

// defects lists the lines of a process's log that no fault excuses.
func (p *process) defects() ([]string, error) {
	raw, err := os.ReadFile(p.log.Name())
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range bytes.Lines(raw) {
		for _, sign := range []string{"panic:", "fatal error:", "WARNING: DATA RACE"} {
			if bytes.HasPrefix(line, []byte(sign)) {
				found = append(found, fmt.Sprintf("%s: %s", p.log.Name(), bytes.TrimSpace(line)))
			}
		}
	}
	return found, nil
}
