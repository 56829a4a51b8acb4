package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

const (
	// benchPrefix begins the ids that the client makes, and so those of the
	// bench's workflows.
	benchPrefix = "wf-"

	benchWorkload = "chain10"
	benchSteps    = 10
)

// benchProcess is a `heddle bench` that keeps the deployment busy. Its figures
// mean nothing here; what it started must end like everything else.
type benchProcess struct {
	cmd  *exec.Cmd
	done chan error
}

// startBench starts it; nil when none is wanted.
func startBench(o options, c *child) (*benchProcess, error) {
	if o.bench == 0 {
		return nil, nil
	}
	b := &benchProcess{done: make(chan error, 1)}
	b.cmd = exec.Command(o.heddle, "bench", "--brokers", c.kafka, "--workload", benchWorkload,
		"--concurrency", strconv.Itoa(o.bench), "--duration", "24h", "-o", "json")
	b.cmd.Stdout, b.cmd.Stderr = c.log, c.log
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting heddle bench: %w", err)
	}
	go func() { b.done <- b.cmd.Wait() }()
	return b, nil
}

// benchDrain is how long the bench's worker may take to finish its steps.
const benchDrain = 40 * time.Second

// stop interrupts it, so that its worker finishes what it has taken.
func (b *benchProcess) stop() {
	if b == nil {
		return
	}
	// A process that has ended by itself needs no signal.
	_ = b.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-b.done: //nolint:errcheck // it was interrupted: how it ended says nothing
	case <-time.After(benchDrain):
		_ = b.cmd.Process.Kill()
		<-b.done //nolint:errcheck // it was killed
	}
}
