package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
)

const (
	heddleHTTP  = "127.0.0.1:14080"
	heddleKafka = "127.0.0.1:14092"
)

// heddleDriver runs `heddle dev` as the server, with its defaults. Its embedded broker
// does not sync, so that acknowledged steps survive the process only.
type heddleDriver struct {
	http   bool // start workflows over HTTP, not over Kafka
	server *server
	data   string
	client *client.Client
	worker chan error // the worker's end
	cancel context.CancelFunc
}

// Workloads implements Driver.
func (d *heddleDriver) Workloads() []string { return []string{"single", "chain10", "fanout100"} }

// Describe implements Driver.
func (d *heddleDriver) Describe() Description {
	over := "Kafka"
	if d.http {
		over = "HTTP"
	}
	return Description{Server: "heddle dev", Client: "sdk/client over " + over + ", sdk/worker", Durability: SurvivesProcess}
}

// Start implements Driver. HEDDLE_BIN names another binary than the setup script's.
func (d *heddleDriver) Start(ctx context.Context, cfg Config) error {
	if err := checkPortsFree(ctx, heddleHTTP, heddleKafka); err != nil {
		return err
	}
	binary := os.Getenv("HEDDLE_BIN")
	if binary == "" {
		binary = cfg.binary("heddle")
	}
	d.data = filepath.Join(cfg.Dir, "data")
	var err error
	d.server, err = startServer(ctx, filepath.Join(cfg.Dir, "server.log"), nil, binary, "dev", "--data", d.data, "--http", heddleHTTP, "--kafka", heddleKafka)
	if err != nil {
		return err
	}
	if err := d.server.waitForPorts(ctx, time.Minute, heddleHTTP, heddleKafka); err != nil {
		return err
	}
	if err := retry(ctx, time.Minute, 50*time.Millisecond, func() error { return heddleReady(ctx) }); err != nil {
		return err
	}
	if err := d.connect(ctx); err != nil {
		return err
	}
	for _, name := range d.Workloads() {
		definition, err := heddleDefinition(name)
		if err != nil {
			return err
		}
		if _, err := d.client.Define(ctx, "peers-"+name, definition); err != nil {
			return err
		}
	}
	return d.startWorker(ctx)
}

func heddleReady(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+heddleHTTP+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("heddle is not ready: %s: %s", resp.Status, body)
	}
	return nil
}

func (d *heddleDriver) connect(ctx context.Context) (err error) {
	if d.http {
		d.client, err = client.New(ctx, client.Options{URL: "http://" + heddleHTTP})
	} else {
		d.client, err = kafkaclient.New(ctx, kafkaclient.Options{Brokers: []string{heddleKafka}})
	}
	return err
}

func (d *heddleDriver) startWorker(ctx context.Context) error {
	w, err := worker.New(worker.Options{Brokers: []string{heddleKafka}, Slots: 1024, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	worker.Handle(w, task.Define[int, int]("peers.step"), func(_ context.Context, v int) (int, error) { return stepBody(v), nil })
	ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	d.worker = make(chan error, 1)
	go func() { d.worker <- w.Run(ctx) }()
	return nil
}

// heddleDefinition returns a workload as a definition with the output v.
func heddleDefinition(name string) ([]byte, error) {
	w, err := workload(name)
	if err != nil {
		return nil, err
	}
	components := map[string]any{}
	var steps []string
	for i := range w.Steps {
		component := map[string]any{"step": "peers.step"}
		if i > 0 && !w.FanOut {
			component["after"] = steps[i-1]
		}
		steps = append(steps, fmt.Sprintf("s%03d", i))
		components[steps[i]] = component
	}
	output := steps[len(steps)-1]
	if w.FanOut {
		output = "joined"
		components[output] = map[string]any{"expr": "sum(input)", "after": steps}
	}
	return json.Marshal(map[string]any{
		"name": "peers-" + name, "version": "1", "components": components,
		"outputs": map[string]any{"v": output}, "options": map[string]any{"close": "on_idle"},
	})
}

// RunWorkflow implements Driver.
func (d *heddleDriver) RunWorkflow(ctx context.Context, workload, id string) (int, error) {
	run, err := d.client.Start(ctx, "peers-"+workload, 0, client.StartOptions{ID: id, Wait: client.UntilDrained})
	if err != nil {
		return 0, err
	}
	return client.Result[int](ctx, run, "v")
}

// ServerPIDs implements Driver.
func (d *heddleDriver) ServerPIDs() []int { return d.server.pids() }

// Disk implements Driver.
func (d *heddleDriver) Disk(context.Context) (DiskUse, error) {
	stored, err := allocated(d.data)
	return DiskUse{Stored: stored}, err
}

// Stop implements Driver.
func (d *heddleDriver) Stop() error {
	var errs []error
	if d.cancel != nil {
		d.cancel()
		if err := <-d.worker; !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	if d.client != nil {
		errs = append(errs, d.client.Close())
	}
	return errors.Join(append(errs, d.server.stop(20*time.Second))...)
}
