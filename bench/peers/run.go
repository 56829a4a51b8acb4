package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Plan bounds a run in time.
type Plan struct {
	Warm, MaxWarm     time.Duration // the warm-up lasts until each client has had a workflow
	Window, MaxWindow time.Duration // the window lasts until each client has had three
}

const (
	startTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
)

// noisyCores is how much CPU others may use before a run counts as noisy. It cannot
// be near zero: kernel threads that work for the engine are among them.
const noisyCores = 0.2

// measure runs a driver once. A run that fails says why in Result.Failed.
func measure(ctx context.Context, driver string, cfg Config, plan Plan, repetition int) Result {
	r := Result{Driver: driver, Workload: cfg.Workload, Concurrency: cfg.Concurrency, Repetition: repetition, At: time.Now().UTC()}
	w, err := workload(cfg.Workload)
	if err != nil {
		r.Failed = err.Error()
		return r
	}
	d, err := newDriver(driver)
	if err != nil {
		r.Failed = err.Error()
		return r
	}
	m := &measurement{driver: d, workload: w, cfg: cfg, plan: plan, result: &r}
	if err := errors.Join(m.run(ctx), d.Stop()); err != nil {
		r.Failed = err.Error()
		return r
	}
	if err := m.readAtRest(); err != nil {
		r.Failed = err.Error()
	}
	return r
}

// measurement is one run of one driver.
type measurement struct {
	driver   Driver
	workload Workload
	cfg      Config
	plan     Plan
	result   *Result
	load     *load
}

func (m *measurement) run(ctx context.Context) error {
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	err := m.driver.Start(starting, m.cfg)
	cancel()
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	m.result.Engine = m.driver.Describe()
	// one workflow by itself shows that the engine works, and bears the costs of the first use
	if err := runWorkflow(ctx, m.driver, m.workload, fmt.Sprintf("probe-%d", time.Now().UnixNano())); err != nil {
		return fmt.Errorf("first workflow: %w", err)
	}
	before, err := m.driver.Disk(ctx)
	if err != nil {
		return fmt.Errorf("disk use: %w", err)
	}
	m.load = startLoad(ctx, m.driver, m.workload, m.cfg.Concurrency)
	err = m.runWindow(ctx, before)
	return errors.Join(err, m.load.stop(), ctx.Err())
}

// runWindow warms up and measures while the load goes on.
func (m *measurement) runWindow(ctx context.Context, before DiskUse) error {
	r, l := m.result, m.load
	r.WarmSeconds = l.wait(ctx, m.plan.Warm, m.plan.MaxWarm, m.cfg.Concurrency).Seconds()

	errorsBefore := l.failed.Load()
	pids := m.driver.ServerPIDs()
	from, err := readUsage(pids, m.cfg.Dir)
	if err != nil {
		return err
	}
	l.wait(ctx, m.plan.Window, m.plan.MaxWindow, 3*m.cfg.Concurrency)
	to, err := readUsage(pids, m.cfg.Dir)
	if err != nil {
		return err
	}
	r.Errors = int(l.failed.Load() - errorsBefore)
	if first := l.firstError.Load(); first != nil {
		r.FirstError = *first
	}

	// load goes on while the engine tells its disk use: the mean of both counts fits it best
	done := l.done.Load()
	after, err := m.driver.Disk(ctx)
	if err != nil {
		return fmt.Errorf("disk use: %w", err)
	}
	if done = (done + l.done.Load()) / 2; done > 0 {
		r.StoredPerWorkflow = (after.Stored - before.Stored) / done
		r.WALPerWorkflow = (after.WAL - before.WAL) / done
	}

	if err := l.stop(); err != nil {
		return err
	}
	latencies, err := l.latencies(from.at, to.at)
	if err != nil {
		return err
	}
	r.setRates(m.workload, latencies, from, to)
	r.setUsage(from, to)
	return nil
}

func (r *Result) setRates(w Workload, latencies []time.Duration, from, to usage) {
	r.WindowSeconds = to.at.Sub(from.at).Seconds()
	r.Workflows = len(latencies)
	r.Latency = newLatency(latencies)
	r.WorkflowsPerSecond = float64(r.Workflows) / r.WindowSeconds
	r.StepsPerSecond = r.WorkflowsPerSecond * float64(w.Steps)
	r.ExecutionsPerSecond = float64(to.steps-from.steps) / r.WindowSeconds
	r.WrittenPerWorkflow = (to.written - from.written) / int64(r.Workflows)
}

func (r *Result) setUsage(from, to usage) {
	server, client := to.server.cpu-from.server.cpu, to.client-from.client
	if steps := float64(to.steps - from.steps); steps > 0 {
		r.ServerCPUPerStep = server / steps * 1000
		r.ClientCPUPerStep = client / steps * 1000
	}
	r.ServerCores = server / r.WindowSeconds
	r.ClientCores = client / r.WindowSeconds
	others := max(0, to.busy-from.busy-server-client) + to.steal - from.steal
	r.OtherCores = others / r.WindowSeconds
	r.Noisy = r.OtherCores > noisyCores
	r.ServerRSS, r.ServerPeakRSS = to.server.rss, to.server.peak
	r.ClientRSS = kilobytes("/proc/self/status", "VmRSS:")
}

// readAtRest replaces the disk use by that of the stopped engine, if the driver asks for it.
func (m *measurement) readAtRest() error {
	meter, ok := m.driver.(restMeter)
	if !ok || m.load.done.Load() == 0 {
		return nil
	}
	stored, err := meter.StoredAtRest()
	m.result.StoredPerWorkflow = stored / m.load.done.Load()
	return err
}

// waitForQuiet waits until others have used little CPU for three seconds, but not
// longer than the limit. The run itself tells how noisy it was.
func waitForQuiet(ctx context.Context, limit time.Duration) error {
	const period = 3 * time.Second
	for end := time.Now().Add(limit); time.Now().Before(end); {
		busy, steal, err := machineCPU()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(period):
		}
		busyThen, stealThen, err := machineCPU()
		if err != nil {
			return err
		}
		if (busyThen-busy+stealThen-steal)/period.Seconds() < 0.12 {
			return nil
		}
	}
	return nil
}
