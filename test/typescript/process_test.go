package typescript

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-run/heddle/test/ports"
)

// limit is how long anything may take. Machines of CI are slow at times.
const limit = time.Minute

// process is a program that is started, killed, and started again from the same command line.
type process struct {
	name string
	args []string // the program first
	env  []string
	log  string // file of what it prints
	cmd  *exec.Cmd
}

func (p *process) start(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(p.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // the process has its own
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", p.name, err)
	}
	p.cmd = cmd
}

// kill ends the process as kill -9 does.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("killing %s: %v", p.name, err)
	}
	_ = p.cmd.Wait() // it was killed: that is its error
	p.cmd = nil
}

// stop asks the process to end, and wants exit code 0.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("stopping %s: %v", p.name, err)
	}
	late := time.AfterFunc(limit, func() { _ = p.cmd.Process.Kill() }) // seen below
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%s was told to stop: %v", p.name, err)
	}
	p.cmd = nil
}

// processes are those of a test, in the order in which they were started.
type processes struct {
	dir string // of data and logs
	all []*process
}

// start starts a program. It is killed at the end of the test, if it still runs then.
func (ps *processes) start(t *testing.T, name string, env []string, args ...string) *process {
	t.Helper()
	p := &process{name: name, args: args, env: env, log: filepath.Join(ps.dir, name+".log")}
	ps.all = append(ps.all, p)
	t.Cleanup(func() {
		if p.cmd != nil {
			p.kill(t)
		}
		if text, err := os.ReadFile(p.log); t.Failed() {
			t.Logf("--- %s said (%v):\n%s", name, err, text[max(0, len(text)-4000):])
		}
	})
	p.start(t)
	return p
}

// stop stops all, the last one first.
func (ps *processes) stop(t *testing.T) {
	t.Helper()
	for _, p := range slices.Backward(ps.all) {
		p.stop(t)
	}
}

// eventually tries again until f succeeds: the other side are processes, and nothing tells when.
func eventually(t *testing.T, what string, f func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		err := f(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("after %s it is not so that %s: %v", limit, what, err)
		}
	}
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	addr, err := ports.Free(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return addr.String()
}

// built builds a program of the module, as `make build` does, which has compiled most of it.
func built(t *testing.T, dir, pkg string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", path, "github.com/heddle-run/heddle/"+pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return path
}

// done runs a program to its end.
func done(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%q: %w\n%s", args, err, out)
	}
	return nil
}
