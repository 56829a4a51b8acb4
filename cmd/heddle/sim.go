package main

import (
	"runtime/debug"
	"time"

	"github.com/heddle-run/heddle/internal/sim"
)

// simCmd runs seeds of the simulation.
type simCmd struct {
	Seed    uint64        `env:"-" default:"1" help:"The seed, or the first one of several."`
	Seeds   uint64        `env:"-" default:"1" help:"How many seeds, from the first one on."`
	Steps   int           `env:"-" default:"800" help:"Steps with faults; then everything has to come to rest."`
	Cluster string        `env:"-" enum:"model,embedded" default:"model" help:"What planners run over: a model of a Kafka cluster, or the embedded broker."`
	Lines   int           `env:"-" default:"400" help:"Lines of a failing run's history that are printed."`
	All     bool          `env:"-" help:"Print all lines of a failing run, not only those that concern what fails."`
	Every   time.Duration `env:"-" default:"30s" help:"Between two lines about the progress."`
}

// Run implements the command.
func (c *simCmd) Run(a *app) error {
	defer debug.SetGCPercent(debug.SetGCPercent(sim.Garbage))
	return sim.Campaign{First: c.Seed, Count: c.Seeds, Steps: c.Steps, Embedded: c.Cluster == "embedded", Lines: c.Lines, All: c.All, Every: c.Every}.Run(a, a.out)
}
