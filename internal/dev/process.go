package dev

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// plannerProcess is the process of the planner that runs, for killing it.
type plannerProcess struct {
	mu      sync.Mutex
	running *os.Process
	http    string // where its metrics are: host:port
}

func (p *plannerProcess) set(running *os.Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.http = running, ""
}

func (p *plannerProcess) serves(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.http = addr
}

// PlannerMetrics is the URL of the metrics of a planner that runs as a process of its own and can be used; each
// has another one. Empty: there is none, or its metrics are with those of the others.
func (d *Dev) PlannerMetrics() string {
	d.process.mu.Lock()
	defer d.process.mu.Unlock()
	if d.process.http == "" {
		return ""
	}
	return "http://" + d.process.http + "/metrics"
}

// KillPlanner kills the process of the planner, as kill -9 does, and returns its
// number once it is gone. There is one only with Options.Planner.
func (d *Dev) KillPlanner() (pid int, err error) {
	d.process.mu.Lock()
	p := d.process.running
	d.process.mu.Unlock()
	if p == nil {
		return 0, errors.New("no planner runs as a process of its own")
	}
	return p.Pid, d.units[Planner].kill(p.Kill)
}

// ChildReady begins the line that a planner with --child writes once it can be used. Where it serves
// --http, the address (host:port) follows behind a space.
const ChildReady = "ready"

// runPlannerProcess runs the planner as a child until ctx ends, and then ends it in order.
func (d *Dev) runPlannerProcess(ctx context.Context, ready func()) error {
	cmd := d.plannerCommand(ctx)
	// The child ends with its standard input, which nobody closes but the end of this process.
	if _, err := cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	d.process.set(cmd.Process)
	defer d.process.set(nil)
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); err == nil {
		if addr, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), ChildReady+" "); ok {
			d.process.serves(addr)
			ready()
		}
	}
	_, err = io.Copy(io.Discard, said) // until it has ended
	return errors.Join(err, cmd.Wait())
}

// endWait is longer than a planner takes to end in order.
const endWait = 30 * time.Second

// plannerCommand is the planner with the same settings as within this process.
func (d *Dev) plannerCommand(ctx context.Context) *exec.Cmd {
	args := append(d.options.Planner[1:len(d.options.Planner):len(d.options.Planner)],
		"--child", "--http=127.0.0.1:0", "--brokers="+strings.Join(d.Brokers, ","), "--prefix="+d.Prefix, "--data=planner",
		"--name="+instance, "--never-runs-twice", fmt.Sprint("--hot-bytes=", hotBytes), fmt.Sprint("--cache-bytes=", cacheBytes),
	)
	if d.options.History > 0 {
		args = append(args, "--history="+d.options.History.String())
	}
	if d.archive != nil {
		args = append(args, "--archive")
	}
	for name, o := range d.options.Pools { // order: each flag is by itself
		for _, queue := range o.Queues {
			args = append(args, "--pools="+queue+"="+name)
		}
	}
	cmd := exec.CommandContext(ctx, d.options.Planner[0], args...)
	cmd.Dir = d.data.path // settings files of where this process runs are not for the child
	cmd.Env = append(foreignEnvironment(), "HEDDLE_TOKEN_KEY="+d.key)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endWait
	// Ctrl-C at a terminal is meant for this process, which ends its services in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// foreignEnvironment is the environment without the settings of Heddle, which are not
// meant for a deployment that has its own.
func foreignEnvironment() []string {
	var all []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HEDDLE_") {
			all = append(all, v)
		}
	}
	return all
}
