package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

// temporalDatabases are the databases of a run, by the name of their schema. Schemas
// and namespace are made once and kept as templates.
var temporalDatabases = []struct{ name, schema, template string }{
	{"temporal", "temporal", "temporal_template"},
	{"temporal_visibility", "visibility", "temporal_visibility_template"},
}

func (d *temporalDriver) startOnPostgres(ctx context.Context) (err error) {
	if d.postgres, err = startPostgres(ctx, d.cfg); err != nil {
		return err
	}
	last := temporalDatabases[len(temporalDatabases)-1]
	made, err := d.postgres.exists(ctx, last.template)
	if err != nil {
		return err
	}
	if !made {
		if err := d.makeTemplates(ctx); err != nil {
			return fmt.Errorf("prepare Temporal's databases: %w", err)
		}
	}
	for _, db := range temporalDatabases {
		if err := d.postgres.create(ctx, db.name, db.template); err != nil {
			return err
		}
	}
	if err := d.postgres.checkpoint(ctx); err != nil {
		return err
	}
	return d.startServer(ctx)
}

// makeTemplates makes the databases with their schemas, lets a server register the
// namespace in them, and renames them.
func (d *temporalDriver) makeTemplates(ctx context.Context) error {
	for _, db := range temporalDatabases {
		if err := d.postgres.create(ctx, db.name, ""); err != nil {
			return err
		}
		if err := d.sqlTool(ctx, db.name, "setup-schema", "-v", "0.0"); err != nil {
			return err
		}
		if err := d.sqlTool(ctx, db.name, "update-schema", "--schema-name", "postgresql/v12/"+db.schema); err != nil {
			return err
		}
	}
	if err := d.startServer(ctx); err != nil {
		return err
	}
	if err := d.registerNamespace(ctx); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // the server's own workflows start
	if err := d.server.stop(30 * time.Second); err != nil {
		return err
	}
	d.server = nil
	for _, db := range temporalDatabases {
		if err := d.postgres.drop(ctx, db.template); err != nil {
			return err
		}
		if err := d.postgres.exec(ctx, "alter database "+db.name+" rename to "+db.template); err != nil {
			return err
		}
	}
	d.postgres.databases = nil
	return nil
}

// sqlTool runs Temporal's schema tool on a database.
func (d *temporalDriver) sqlTool(ctx context.Context, db string, action ...string) error {
	args := []string{"--plugin", "postgres12", "--ep", "127.0.0.1", "-p", strconv.Itoa(postgresPort), "-u", "bench", "--pw", "bench", "--db", db}
	output, err := exec.CommandContext(ctx, d.cfg.binary("temporal-server", "sql"), append(args, action...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("temporal's sql tool, %s: %w: %s", action[0], err, output)
	}
	return nil
}

func (d *temporalDriver) registerNamespace(ctx context.Context) (err error) {
	if err := d.server.waitForPorts(ctx, time.Minute, temporalAddr); err != nil {
		return err
	}
	c, err := client.NewNamespaceClient(client.Options{HostPort: temporalAddr})
	if err != nil {
		return err
	}
	defer c.Close()
	request := &workflowservice.RegisterNamespaceRequest{
		Namespace: "default", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}
	return retry(ctx, 30*time.Second, 500*time.Millisecond, func() error { return c.Register(ctx, request) })
}

// startServer starts the production server.
func (d *temporalDriver) startServer(ctx context.Context) (err error) {
	var dynamic strings.Builder
	for key, value := range temporalTuning {
		fmt.Fprintf(&dynamic, "%s: [{value: %d}]\n", key, value)
	}
	dynamicFile, file := filepath.Join(d.cfg.Dir, "dynamic.yaml"), filepath.Join(d.cfg.Dir, "temporal.yaml")
	err = errors.Join(
		os.WriteFile(dynamicFile, []byte(dynamic.String()), 0o644),
		os.WriteFile(file, fmt.Appendf(nil, temporalConfig, postgresAddr, dynamicFile), 0o644),
	)
	if err != nil {
		return err
	}
	d.server, err = startServer(ctx, d.log(), nil, d.cfg.binary("temporal-server", "server"), "--config-file", file, "--allow-no-auth", "start")
	return err
}

// temporalConfig follows config/development-postgres12.yaml of the server's source.
const temporalConfig = `
log: {stdout: true, level: warn}
persistence:
  defaultStore: main
  visibilityStore: visibility
  numHistoryShards: 16
  datastores:
    main:
      sql: {pluginName: postgres12_pgx, databaseName: temporal, connectAddr: "%[1]s", connectProtocol: tcp, user: bench, password: bench, maxConns: 60, maxIdleConns: 60, maxConnLifetime: 1h}
    visibility:
      sql: {pluginName: postgres12_pgx, databaseName: temporal_visibility, connectAddr: "%[1]s", connectProtocol: tcp, user: bench, password: bench, maxConns: 10, maxIdleConns: 10, maxConnLifetime: 1h}
global:
  membership: {maxJoinDuration: 30s, broadcastAddress: 127.0.0.1}
services:
  frontend: {rpc: {grpcPort: 7233, membershipPort: 6933, bindOnLocalHost: true}}
  matching: {rpc: {grpcPort: 7235, membershipPort: 6935, bindOnLocalHost: true}}
  history: {rpc: {grpcPort: 7234, membershipPort: 6934, bindOnLocalHost: true}}
  worker: {rpc: {grpcPort: 7239, membershipPort: 6939, bindOnLocalHost: true}}
clusterMetadata:
  enableGlobalNamespace: false
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation:
    active: {enabled: true, initialFailoverVersion: 1, rpcName: frontend, rpcAddress: "localhost:7233"}
dcRedirectionPolicy: {policy: noop}
archival:
  history: {state: disabled}
  visibility: {state: disabled}
namespaceDefaults:
  archival:
    history: {state: disabled}
    visibility: {state: disabled}
dynamicConfigClient: {filepath: %[2]q, pollInterval: 10s}
`
