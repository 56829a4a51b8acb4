package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	restateserver "github.com/restatedev/sdk-go/server"
)

const (
	restateIngress  = "127.0.0.1:8080"
	restateAdmin    = "127.0.0.1:9070"
	restateEndpoint = "127.0.0.1:9080" // the worker
)

// restateDriver runs restate-server with its defaults: one node, 24 partitions. Only
// telemetry is off and addresses are those of loopback.
type restateDriver struct {
	partitions int // 0: the default; one batches best on few cores
	cfg        Config
	data       string
	binary     string
	env        []string
	server     *server
	http       *http.Client
	endpoint   chan error // the worker's end
	cancel     context.CancelFunc
	atStart    int64 // size of the stopped server's files before the run
}

// Workloads implements Driver.
func (d *restateDriver) Workloads() []string {
	return []string{"single", "chain10", "fanout100", "chain10-calls", "chain10-wf"}
}

// Describe implements Driver.
func (d *restateDriver) Describe() Description {
	settings := []string{"rocksdb-disable-wal-fsync=" + strconv.FormatBool(!d.cfg.Fsync)}
	if d.partitions > 0 {
		settings = append(settings, fmt.Sprintf("partitions=%d", d.partitions))
	}
	return Description{
		Server:     "restate-server, npm @restatedev/restate-server " + npmVersion(d.binary),
		Client:     moduleVersion("github.com/restatedev/sdk-go"),
		Durability: durability(d.cfg.Fsync),
		Settings:   strings.Join(settings, " "),
	}
}

// Start implements Driver. It boots the server twice: a stopped server has flushed its
// memory and given back the space that it preallocates, so that file sizes mean something.
func (d *restateDriver) Start(ctx context.Context, cfg Config) error {
	d.cfg, d.data = cfg, filepath.Join(cfg.Dir, "data")
	var err error
	if d.binary, err = restateBinary(cfg.Scratch); err != nil {
		return err
	}
	if err := checkPortsFree(ctx, restateIngress, restateAdmin, restateEndpoint); err != nil {
		return err
	}
	d.env = []string{"RESTATE_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=1", "RESTATE_LOG_FILTER=warn"}
	if d.partitions > 0 {
		d.env = append(d.env, fmt.Sprintf("RESTATE_DEFAULT_NUM_PARTITIONS=%d", d.partitions))
	}
	if !cfg.Fsync {
		d.env = append(d.env, "RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC=true", "RESTATE_BIFROST__LOCAL__ROCKSDB_DISABLE_WAL_FSYNC=true")
	}
	d.http = &http.Client{Transport: &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096}}
	d.serveSteps(ctx)
	if err := d.boot(ctx); err != nil {
		return err
	}
	if err := d.registerSteps(ctx); err != nil {
		return err
	}
	if err := d.warm(ctx); err != nil {
		return err
	}
	if err := d.server.stop(20 * time.Second); err != nil {
		return err
	}
	d.http.CloseIdleConnections()
	if d.atStart, err = allocated(d.data); err != nil {
		return err
	}
	if err := d.boot(ctx); err != nil {
		return err
	}
	return d.warm(ctx)
}

// restateBinary finds the binary of this platform among the npm package's dependencies.
func restateBinary(scratch string) (string, error) {
	pattern := filepath.Join(scratch, "restate", "node_modules", "@restatedev", "restate-server-*", "bin", "restate-server")
	found, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("there is no %s: run the setup script", pattern)
	}
	return found[0], nil
}

// serveSteps starts the worker.
func (d *restateDriver) serveSteps(ctx context.Context) {
	w := restateserver.NewRestate().WithLogger(slog.DiscardHandler, true)
	for _, service := range restateServices() {
		w = w.Bind(service)
	}
	ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	d.endpoint = make(chan error, 1)
	go func() { d.endpoint <- w.Start(ctx, restateEndpoint) }()
}

func (d *restateDriver) boot(ctx context.Context) (err error) {
	d.server, err = startServer(ctx, filepath.Join(d.cfg.Dir, "server.log"), d.env, d.binary,
		"--node-name", "n1", "--base-dir", d.data, "--bind-ip", "127.0.0.1", "--advertised-host", "127.0.0.1", "--no-logo")
	if err != nil {
		return err
	}
	return d.server.waitForPorts(ctx, time.Minute, restateIngress, restateAdmin, restateEndpoint)
}

// registerSteps tells the server where the worker is. The server answers before its cluster is up.
func (d *restateDriver) registerSteps(ctx context.Context) error {
	return retry(ctx, time.Minute, 200*time.Millisecond, func() error {
		if err := d.server.running(); err != nil {
			return fatal{err}
		}
		return d.post(ctx, "http://"+restateAdmin+"/deployments", `{"uri": "http://`+restateEndpoint+`"}`, nil)
	})
}

// warm runs some workflows, after which all partitions have a leader.
func (d *restateDriver) warm(ctx context.Context) error {
	for range 100 {
		err := retry(ctx, time.Minute, 200*time.Millisecond, func() error {
			once, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			_, err := d.RunWorkflow(once, "single", "")
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RunWorkflow implements Driver.
func (d *restateDriver) RunWorkflow(ctx context.Context, workload, id string) (int, error) {
	path := "Bench/" + restateName(workload)
	if workload == "chain10-wf" {
		path = "BenchWorkflow/" + id + "/run"
	}
	var v int
	err := d.post(ctx, "http://"+restateIngress+"/"+path, "0", &v)
	return v, err
}

// post sends JSON and decodes the answer, unless into is nil.
func (d *restateDriver) post(ctx context.Context, url, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.http.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s: %.300s", url, resp.Status, bytes.TrimSpace(answer))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// ServerPIDs implements Driver.
func (d *restateDriver) ServerPIDs() []int { return d.server.pids() }

// Disk implements Driver.
func (d *restateDriver) Disk(context.Context) (DiskUse, error) {
	stored, err := allocated(d.data)
	return DiskUse{Stored: stored}, err
}

// StoredAtRest implements restMeter.
func (d *restateDriver) StoredAtRest() (int64, error) {
	stored, err := allocated(d.data)
	return stored - d.atStart, err
}

// Stop implements Driver.
func (d *restateDriver) Stop() error {
	err := d.server.stop(20 * time.Second)
	if d.cancel != nil {
		d.cancel()
		err = errors.Join(err, <-d.endpoint)
	}
	return err
}
