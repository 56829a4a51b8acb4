//go:build integration

package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopLimit is how long a service may take to stop when it is asked to.
const stopLimit = 30 * time.Second

// process is one service, started from the same command line again and again.
type process struct {
	name string
	args []string
	env  []string
	log  string // file of everything it printed
	cmd  *exec.Cmd
	gone chan error // how it has ended, once it has
}

// start starts the process and returns at once.
func (p *process) start(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(p.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // the process has its own
	p.cmd = exec.Command(binary, p.args...)
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Stdout, p.cmd.Stderr = f, f
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", p.name, err)
	}
	cmd, gone := p.cmd, make(chan error, 1)
	p.gone = gone
	go func() { gone <- cmd.Wait() }()
}

// kill ends the process as kill -9 does.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("killing %s: %v", p.name, err)
	}
	p.wait(t)
}

// stop asks the process to end, and waits until it has. Ending in any way but
// by itself with exit code 0 fails the test.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("stopping %s: %v", p.name, err)
	}
	late := time.AfterFunc(stopLimit, func() { _ = p.cmd.Process.Kill() }) // seen below as exit by signal
	defer late.Stop()
	if state := p.wait(t); !state.Success() {
		t.Errorf("%s ended with %v", p.name, state)
	}
}

func (p *process) wait(t *testing.T) *os.ProcessState {
	t.Helper()
	err := <-p.gone
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("waiting for %s: %v", p.name, err)
	}
	state := p.cmd.ProcessState
	p.cmd = nil
	return state
}

// quit ends the process and has it print what each of its goroutines is at.
func (p *process) quit(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Errorf("%s: %v", p.name, err)
	}
	late := time.AfterFunc(stopLimit, func() { _ = p.cmd.Process.Kill() }) // one that was stopped by a signal prints nothing
	defer late.Stop()
	p.wait(t)
}

// running reports whether the process was started and not ended by the test.
func (p *process) running() bool { return p.cmd != nil }

// failed tells whether a process has ended that the test has not ended, and how.
func (p *process) failed() error {
	select {
	case err := <-p.gone:
		p.gone <- err
		return fmt.Errorf("%s has ended by itself: %s", p.name, p.cmd.ProcessState)
	default:
		return nil
	}
}

// said is the end of what the process printed, and what the owners of partitions were
// at when it had to quit.
func (p *process) said() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	text, dump, _ := strings.Cut(string(b), "\nSIGQUIT")
	const most = 6000
	if len(text) > most {
		text = text[len(text)-most:]
		_, text, _ = strings.Cut(text, "\n")
	}
	for g := range strings.SplitSeq(dump, "\n\n") {
		if strings.Contains(g, "/internal/partition.(*Owner).run(") {
			text += "\n\n" + g
		}
	}
	return text
}

func logFile(dir, name string) string { return filepath.Join(dir, name+".log") }
