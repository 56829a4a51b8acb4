package main

import (
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

	// benchTurn is how long it goes on, and benchRest how long it then rests before
	// it begins again: as long as there are faults, and so that a long run's disk has
	// room for its records.
	benchTurn = time.Minute
	benchRest = 15 * time.Second
	// benchDrain is how long the bench's worker may take to finish its steps.
	benchDrain = 40 * time.Second
)

// load is a `heddle bench` that keeps the deployment busy, in turns. Its figures
// mean nothing here; what it started must end like everything else. It also gives
// up when it is begun while the deployment is dead. The director begins it again.
type load struct{ process *process }

// startBench starts it; none is wanted when its concurrency is 0.
func startBench(o options, d *deployment) (load, error) {
	if o.bench == 0 {
		return load{}, nil
	}
	log, err := openLog(d.dir, "bench")
	if err != nil {
		return load{}, err
	}
	args := []string{"bench", "--brokers", d.kafka, "--workload", benchWorkload, "--concurrency", strconv.Itoa(o.bench),
		"--duration", min(o.duration, benchTurn).String(), "-o", "json"}
	p := &process{name: "bench", args: args, log: log, ended: d.endings}
	return load{p}, p.start(d.binary)
}

// finish interrupts it, so that its worker finishes what it has taken. How it
// ends says nothing: its deployment was tortured.
func (l load) finish() error {
	if l.process == nil {
		return nil
	}
	l.process.signal(syscall.SIGINT)
	select {
	case <-l.process.done:
	case <-time.After(benchDrain):
	}
	l.process.kill()
	return l.process.log.Close()
}
