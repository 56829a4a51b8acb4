package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-run/heddle/test/ports"
)

// startBroker starts a Kafka broker where one is wanted, and warms up whichever is used.
func (m *meter) startBroker(ctx context.Context) (stop func(), err error) {
	stop = func() {}
	if m.Kafka {
		addr, err := ports.Free(ctx)
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(m.dir, "kafka")
		fmt.Fprintln(m.log, "starting a broker")
		printed, err := output(ctx, "", m.KafkaLocal, "start", dir, fmt.Sprint(addr.Port()))
		if err != nil {
			return nil, fmt.Errorf("--kafka-local: %w", err)
		}
		m.Brokers = []string{printed}
		stop = func() {
			if _, err := output(context.WithoutCancel(ctx), "", m.KafkaLocal, "stop", dir); err != nil {
				fmt.Fprintln(m.log, err)
			}
		}
	}
	if m.overKafka() && m.WarmBroker > 0 {
		fmt.Fprintf(m.log, "warming the broker up for %s\n", m.WarmBroker)
		_, err = output(ctx, "", m.floor.binary, "bench", "--floor", "--brokers", strings.Join(m.Brokers, ","), "--duration", m.WarmBroker.String())
	}
	if err != nil {
		stop()
	}
	return stop, err
}

// turnOverKafka measures all settings with each build. The services of one build run for
// all its workloads: starting them takes longer than measuring one.
func (m *meter) turnOverKafka(ctx context.Context, builds []*build, tree *build, r *results) error {
	for _, archive := range m.Archive {
		for _, b := range builds {
			if err := m.overServices(ctx, b, archive, b == tree, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *meter) overServices(ctx context.Context, b *build, archive string, isTree bool, r *results) error {
	d := &deployment{build: b, brokers: strings.Join(m.Brokers, ","), prefix: "compare-" + filepath.Base(m.dir) + "-" + b.name + "-" + archive + ".",
		dir: filepath.Join(m.dir, b.name+"-"+archive)}
	defer d.stop()
	if err := d.start(ctx, archive); err != nil {
		return err
	}
	for _, s := range r.settings {
		if s.archive != archive {
			continue
		}
		floor, err := m.bench(ctx, m.floor, s, "--floor", "--brokers", d.brokers)
		if err != nil {
			return err
		}
		f, err := m.bench(ctx, b, s, "--brokers", d.brokers, "--prefix", d.prefix)
		if err != nil {
			return err
		}
		r.add(s, isTree, measurement{f, &floor})
	}
	return nil
}

// deployment is the four services of one build as processes.
type deployment struct {
	*build
	brokers, prefix, dir string
	running              []*exec.Cmd
}

const tokenKey = "a secret of comparisons"

// start starts the services and returns when all are ready.
func (d *deployment) start(ctx context.Context, archive string) error {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	if _, err := output(ctx, "", d.binary, "topics", "apply", "--brokers", d.brokers, "--prefix", d.prefix, "--partitions", "8"); err != nil {
		return err
	}
	planner := []string{"planner", "--data", filepath.Join(d.dir, "planner"), "--token-key", tokenKey}
	gateway := []string{"gateway", "--data", filepath.Join(d.dir, "gateway")}
	if archive != "none" {
		has, err := d.has(ctx, "gateway", "archive-store")
		if err != nil {
			return err
		}
		if has {
			planner = append(planner, "--archive")
			gateway = append(gateway, "--archiver", "--archive-store", "pebble:"+filepath.Join(d.dir, "archive"))
		}
	}
	for _, args := range [][]string{planner, gateway, {"executor"}, {"readiness"}} {
		if err := d.service(ctx, args); err != nil {
			return err
		}
	}
	return nil
}

// service starts one process and waits until it is ready.
func (d *deployment) service(ctx context.Context, args []string) error {
	addr, err := ports.Free(ctx)
	if err != nil {
		return err
	}
	name := filepath.Join(d.dir, args[0]+".log")
	log, err := os.Create(name)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), d.binary, append(args, "--brokers", d.brokers, "--prefix", d.prefix, "--http", addr.String())...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	d.running = append(d.running, cmd)
	for began := time.Now(); ; {
		if err = ready(ctx, "http://"+addr.String()); err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Since(began) > time.Minute {
			said, _ := os.ReadFile(name)
			return fmt.Errorf("%s of %s is not ready: %w\n%s", args[0], d.name, err, said)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func ready(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", resp.Status)
	}
	return nil
}

// stop ends the services in the opposite order, as an operator would.
func (d *deployment) stop() {
	for len(d.running) > 0 {
		last := d.running[len(d.running)-1]
		d.running = d.running[:len(d.running)-1]
		_ = last.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		_ = last.Wait()                          // what it measured is there
	}
}
