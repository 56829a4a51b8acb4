package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// Config says what a driver is started for. Every run has a driver of its own.
type Config struct {
	Scratch     string // the directory that the setup script filled: engines and their binaries
	Dir         string // the run's own directory, empty at Start
	Workload    string // the only workload of the run
	Concurrency int    // clients that the load generator runs
	Fsync       bool   // the engine syncs its log before it acknowledges, if it can
}

// binary returns the path of a program that the setup script built.
func (c Config) binary(name ...string) string {
	return filepath.Join(append([]string{c.Scratch, "bin"}, name...)...)
}

// Durability says which failure an acknowledged step survives.
type Durability string

// A comparison is fair between engines of the same durability.
const (
	SurvivesProcess Durability = "process" // the death of every process: the page cache holds the step
	SurvivesPower   Durability = "power"   // a power cut: the step was synced to disk
)

// durability returns the class of an engine whose log the run syncs or not.
func durability(fsync bool) Durability {
	if fsync {
		return SurvivesPower
	}
	return SurvivesProcess
}

// Description names what was measured: it is recorded with each run.
type Description struct {
	Server     string     `json:"server"`
	Client     string     `json:"client"`
	Durability Durability `json:"durability"`
	Settings   string     `json:"settings,omitempty"` // those that differ from the engine's defaults
}

// DiskUse is what an engine has stored so far, in bytes.
type DiskUse struct {
	Stored int64 // data files, by allocated blocks
	WAL    int64 // ever written to a write-ahead log of its own; 0 if the engine does not say
}

// Driver runs one engine. The worker, which executes workflows and steps, lives in
// this process beside the load generator. Every step calls stepBody.
type Driver interface {
	// Workloads returns the names of the workloads that the engine can run.
	Workloads() []string
	// Start starts server and worker. Workflows can run when it returns. Stop is
	// called even if Start fails.
	Start(ctx context.Context, cfg Config) error
	// Describe describes the started engine.
	Describe() Description
	// RunWorkflow starts one workflow with a unique id and returns its result.
	RunWorkflow(ctx context.Context, workload, id string) (int, error)
	// ServerPIDs returns the root processes of the server, none if the whole engine
	// runs in this process.
	ServerPIDs() []int
	// Disk returns what the engine has stored so far.
	Disk(ctx context.Context) (DiskUse, error)
	// Stop ends worker and server.
	Stop() error
}

// restMeter is a Driver whose engine preallocates or buffers so much that Disk sees
// no growth during a run. StoredAtRest is called after Stop instead.
type restMeter interface {
	// StoredAtRest returns by how many bytes the files have grown in the run.
	StoredAtRest() (int64, error)
}

// drivers makes a driver by its name.
var drivers = map[string]func() Driver{
	"heddle":             func() Driver { return &heddleDriver{} },
	"heddle-http":        func() Driver { return &heddleDriver{http: true} },
	"restate":            func() Driver { return &restateDriver{} },
	"restate-tuned":      func() Driver { return &restateDriver{partitions: 1} },
	"dbos":               func() Driver { return &dbosDriver{} },
	"river":              func() Driver { return &riverDriver{} },
	"go-workflows":       func() Driver { return &goWorkflowsDriver{} },
	"temporal-dev":       func() Driver { return &temporalDriver{backend: temporalDev} },
	"temporal-dev-tuned": func() Driver { return &temporalDriver{backend: temporalDevTuned} },
	"temporal-pg":        func() Driver { return &temporalDriver{backend: temporalPostgres} },
}

func driverNames() []string { return slices.Sorted(maps.Keys(drivers)) }

func newDriver(name string) (Driver, error) {
	create, ok := drivers[name]
	if !ok {
		return nil, fmt.Errorf("there is no driver %q; there are %s", name, strings.Join(driverNames(), ", "))
	}
	return create(), nil
}

// moduleVersion returns the path of a linked module with its version.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return path
	}
	for _, dep := range info.Deps {
		if dep.Path == path {
			return path + " " + dep.Version
		}
	}
	return path
}
