package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/heddle-run/heddle/test/ports"
)

// partitions of the deployments.
const partitions = 8

// deployment is the processes that are tortured. One goroutine uses it.
type deployment struct {
	binary      string
	dir         string // of logs and data
	http, kafka string // addresses
	diary       *diary

	processes []*process // in the order in which they are started
	frailties []frailty  // of processes
	disks     []*disk
	endings   chan ending
}

// deployments are the shapes there are.
var deployments = map[string]func(d *deployment, ctx context.Context, o options) error{
	"dev":      (*deployment).composeDev,
	"services": (*deployment).composeServices,
}

func newDeployment(o options, dir string, diary *diary) *deployment {
	return &deployment{binary: o.heddle, dir: dir, diary: diary, endings: make(chan ending, 1<<10)}
}

// compose makes the disks and starts the processes.
func (d *deployment) compose(ctx context.Context, o options) error {
	for _, addr := range []*string{&d.http, &d.kafka} {
		free, err := ports.Free(ctx)
		if err != nil {
			return err
		}
		*addr = free.String()
	}
	return deployments[o.deployment](d, ctx, o)
}

// brokers is where clients of Kafka begin.
func (d *deployment) brokers() []string { return []string{d.kafka} }

// composeDev is `heddle dev`: everything, the broker too, dies at once.
func (d *deployment) composeDev(_ context.Context, o options) error {
	disk, err := d.disk("data", o.diskMiB)
	if err != nil {
		return err
	}
	args := []string{"dev", "--data", filepath.Join(d.dir, "data", "dev"), "--http", d.http, "--kafka", d.kafka,
		"--partitions", strconv.Itoa(partitions), "--log-level", "warn"}
	return d.add("dev", "http://"+d.http, disk, frailty{kill: 12, suspend: 3, disk: 4}, args)
}

// planners of the deployment of separate services, and what they promise.
var planners = []struct {
	name  string
	extra []string
}{
	{"planner-1", nil},
	{"planner-2", []string{"--never-runs-twice"}},
}

// Sizes in MiB, at most, of a planner's disk and of the gateway's.
const (
	plannerDisk = 128
	viewDisk    = 64
)

// composeServices is the services as processes of their own over one broker,
// which is not killed.
func (d *deployment) composeServices(ctx context.Context, o options) error {
	disk, err := d.disk("broker", o.diskMiB)
	if err != nil {
		return err
	}
	broker := []string{"broker", "--data", filepath.Join(d.dir, "broker", "data"), "--kafka", d.kafka, "--log-level", "warn"}
	if err := d.add("broker", "", disk, frailty{suspend: 2, disk: 1}, broker); err != nil {
		return err
	}
	if err := d.makeTopics(ctx); err != nil {
		return err
	}
	common := []string{"--brokers", d.kafka, "--log-level", "info"}
	for _, p := range planners {
		disk, err := d.disk(p.name, min(plannerDisk, o.diskMiB))
		if err != nil {
			return err
		}
		args := slices.Concat([]string{"planner", "--data", filepath.Join(d.dir, p.name, "data"), "--name", p.name,
			"--token-key", "a secret of the torture"}, p.extra, common)
		if err := d.addService(ctx, p.name, disk, frailty{kill: 3, suspend: 3, disk: 1}, args); err != nil {
			return err
		}
	}
	for _, name := range []string{"executor-1", "executor-2"} {
		args := slices.Concat([]string{"executor", "--name", name, "--allow-loopback"}, common)
		if err := d.addService(ctx, name, nil, frailty{kill: 2, suspend: 2}, args); err != nil {
			return err
		}
	}
	if err := d.addService(ctx, "readiness", nil, frailty{kill: 1, suspend: 1}, slices.Concat([]string{"readiness"}, common)); err != nil {
		return err
	}
	if disk, err = d.disk("gateway", min(viewDisk, o.diskMiB)); err != nil {
		return err
	}
	gateway := slices.Concat([]string{"gateway", "--http", d.http, "--data", filepath.Join(d.dir, "gateway", "data"), "--create-queues"}, common)
	return d.add("gateway", "http://"+d.http, disk, frailty{kill: 2, suspend: 2, disk: 1}, gateway)
}

// disk mounts a file system of so many MiB; without one it is a directory that
// is never filled.
func (d *deployment) disk(name string, mib int) (*disk, error) {
	dir := filepath.Join(d.dir, name)
	if mib == 0 {
		return nil, os.Mkdir(dir, 0o755)
	}
	disk, err := newDisk(dir, mib)
	if err == nil {
		d.disks = append(d.disks, disk)
	}
	return disk, err
}

// makeTopics applies the topics once the broker answers.
func (d *deployment) makeTopics(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		out, err := exec.CommandContext(ctx, d.binary, "topics", "apply", "--brokers", d.kafka, "--partitions", strconv.Itoa(partitions)).CombinedOutput()
		if err == nil {
			return nil
		}
		if pause(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("making the topics: %w: %s", err, out)
		}
	}
}

// addService adds a process with a health endpoint of its own.
func (d *deployment) addService(ctx context.Context, name string, disk *disk, f frailty, args []string) error {
	addr, err := ports.Free(ctx)
	if err != nil {
		return err
	}
	return d.add(name, "http://"+addr.String(), disk, f, append(args, "--http", addr.String()))
}

// add makes a process and starts it.
func (d *deployment) add(name, url string, disk *disk, f frailty, args []string) error {
	log, err := openLog(d.dir, name)
	if err != nil {
		return err
	}
	if disk == nil {
		f.disk = 0
	}
	p := &process{name: name, args: args, url: url, disk: disk, log: log, ended: d.endings}
	d.processes = append(d.processes, p)
	d.frailties = append(d.frailties, f)
	return p.start(d.binary)
}

// ready says what is not ready.
func (d *deployment) ready(ctx context.Context) error {
	var errs []error
	for _, p := range d.processes {
		errs = append(errs, p.ready(ctx))
	}
	return errors.Join(errs...)
}

// stop ends everything as an operator would, the broker last.
func (d *deployment) stop() error {
	for _, p := range slices.Backward(d.processes) {
		if err := p.stop(syscall.SIGTERM, time.Minute); err != nil {
			return err
		}
	}
	return nil
}

// close ends what still runs, and removes the directory or keeps it.
func (d *deployment) close(keep bool) error {
	var errs []error
	for _, p := range slices.Backward(d.processes) {
		p.kill()
		errs = append(errs, p.log.Close())
	}
	for _, disk := range d.disks {
		if keep {
			errs = append(errs, disk.save())
		}
		errs = append(errs, disk.unmount())
	}
	if keep {
		fmt.Println("logs and data are kept in", d.dir)
	} else {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}

// defects lists what the logs say that no fault excuses.
func (d *deployment) defects() ([]string, error) {
	var all []string
	for _, p := range d.processes {
		found, err := p.defects()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// explain keeps the journal's records of some workflows beside the logs.
func (d *deployment) explain(ctx context.Context, ids []string) error {
	const most = 10
	for _, id := range ids[:min(len(ids), most)] {
		out, err := exec.CommandContext(ctx, d.binary, "journal", "dump", id, "--brokers", d.kafka).CombinedOutput()
		if err != nil {
			out = append(out, err.Error()...)
		}
		if err := os.WriteFile(filepath.Join(d.dir, "journal-of-"+id+".txt"), out, 0o644); err != nil {
			return fmt.Errorf("keeping the journal of %s: %w", id, err)
		}
	}
	return nil
}

// interrogate has every process print what its goroutines do, which ends it.
func (d *deployment) interrogate() {
	for _, p := range d.processes {
		p.signal(syscall.SIGQUIT)
	}
	for _, p := range d.processes {
		if p.running() {
			<-p.done
		}
	}
}
