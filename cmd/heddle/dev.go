package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/definition"
)

// devCmd runs everything on this machine.
type devCmd struct {
	Files []string `arg:"" optional:"" placeholder:"FILE" help:"Definitions to register, now and whenever they are saved."`

	Data        string        `default:".heddle" placeholder:"DIR" help:"Data directory; started again on the same data it goes on where it stopped."`
	HTTP        string        `name:"http" placeholder:"ADDR" help:"Address of the gateway; without it 127.0.0.1:4080, or the next free port."`
	Kafka       string        `placeholder:"ADDR" help:"Address of the broker; without it 127.0.0.1:4092, or the next free port."`
	Partitions  int32         `help:"Partitions of the topics keyed by workflow ID, fixed with the first start; default: those of the data, or 8."`
	History     time.Duration `default:"168h" help:"How long the journal keeps what recovery needs no more, for histories; what is older is deleted."`
	ArchiveKeep string        `enum:"closed,all,none" default:"closed" help:"What is kept below the data directory when Kafka has it no more: closed runs, and those that are deleted by their age; all runs; or none."`
	Pools       poolMap       `placeholder:"QUEUE=POOL" help:"Pools of runners by the queue whose attempts they run, instead of workers. The settings file can say more, by pool: {queues, older: wait or overflow, upgrade: keep or drain, shards: NUMBER}."`
	Memory      bool          `help:"Keep nothing: the data is gone when it stops."`
	LogLevel    string        `enum:"debug,info,warn,error" default:"warn" help:"Least level that is logged: ${enum}."`
	LogFormat   string        `enum:"text,json" default:"text" help:"${enum}."`
	executorSettings
}

// Run implements the command.
func (c *devCmd) Run(a *app) error {
	o, err := c.options(a)
	if err != nil {
		return err
	}
	began := time.Now()
	d, err := dev.Start(a, o)
	if errors.Is(err, gateway.ErrExposed) {
		return usageError("heddle dev serves this machine only, so --http is of loopback; others are served by: heddle gateway")
	}
	if err != nil {
		return portTaken(err, c.HTTP != "" || c.Kafka != "")
	}
	c.greet(a, d, time.Since(began))
	err = c.serve(a, d)
	if stopErr := d.Stop(); err == nil {
		err = stopErr
	}
	return err
}

// portTaken adds to an address in use, where one was asked for, what to do about it.
func portTaken(err error, asked bool) error {
	if !asked || !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return fmt.Errorf("%w; give another address, or none to take the next free port", err)
}

func (c *devCmd) options(a *app) (dev.Options, error) {
	rules, err := c.rules()
	if err != nil {
		return dev.Options{}, err
	}
	origins, err := c.origins()
	if err != nil {
		return dev.Options{}, err
	}
	if err := positiveHistory(c.History); err != nil {
		return dev.Options{}, err
	}
	log := logging{LogLevel: c.LogLevel, LogFormat: c.LogFormat}
	o := dev.Options{
		NoArchive: c.ArchiveKeep == "none", ArchiveAll: c.ArchiveKeep == "all",
		Dir: c.Data, Memory: c.Memory, HTTP: c.HTTP, Kafka: c.Kafka, Partitions: c.Partitions, History: c.History,
		Services: c.Services, Rules: rules, NoLoopback: c.AllowLoopback != nil && !*c.AllowLoopback, Emit: c.AllowTopic, Terminals: c.terminals(), Commands: c.commands(), Logger: log.logger(a),
		Pools: c.Pools, RunnersOrigins: origins,
		BrokerFailed: func(err error) { os.Exit(report(a.err, err)) },
	}
	for queue, s := range o.Services {
		s.AllowPrivate = true // on this machine, as a rule
		o.Services[queue] = s
	}
	if o.HTTP == "" {
		o.HTTP, o.NextHTTP = devfile.HTTP, true
	}
	if o.Kafka == "" {
		o.Kafka, o.NextKafka = devfile.Kafka, true
	}
	return o, nil
}

// greet prints where everything is.
func (c *devCmd) greet(a *app, d *dev.Dev, took time.Duration) {
	data := c.Data
	if c.Memory {
		data = "in memory, gone when it stops"
	}
	fmt.Fprintf(a.out, "heddle dev is ready (%s)\n\n", took.Round(time.Millisecond))
	rows(a.out, [][]string{
		{"  API", d.URL, "(its description: " + d.URL + "/openapi.json)"},
		{"  Runners", d.RunnersURL},
		{"  Kafka", d.Brokers[0]},
		{"  Data", data},
	})
	fmt.Fprintln(a.out)
}

// serve registers the files until the process is told to stop.
func (c *devCmd) serve(a *app, d *dev.Dev) error {
	cl, err := client.New(a, client.Options{URL: d.URL})
	if err != nil {
		return err
	}
	defer cl.Close()
	w := newWatcher(c.Files)
	var first *definition.Definition
	for _, file := range w.changed() {
		if def := a.registerFile(a, cl, file); first == nil {
			first = def
		}
	}
	c.suggest(a, d, first)
	tick := time.NewTicker(pollFiles)
	defer tick.Stop()
	for {
		select {
		case <-a.Done():
			fmt.Fprintln(a.out, "stopping")
			return nil
		case err := <-d.Ended():
			return fmt.Errorf("a service has ended: %w", err)
		case <-tick.C:
			for _, file := range w.changed() {
				a.registerFile(a, cl, file)
			}
		}
	}
}

// suggest prints a first command to try.
func (c *devCmd) suggest(a *app, d *dev.Dev, first *definition.Definition) {
	data := ""
	if c.Data != devfile.Dir {
		data = " --data " + c.Data
	}
	if first != nil {
		fmt.Fprintf(a.out, "Try: heddle run %s%s %s\n", shown(first.Name), data, shown(sampleInput(first)))
		return
	}
	fmt.Fprintf(a.out, `Try: curl -X POST '%s/v1/workflows?wait=5s' -H 'Content-Type: application/json' \
  -d '{"definition": {"name": "first", "components": {"loud": {"expr": "upper(input.name)"}}}, "input": {"name": "ann"}}'
`, d.URL)
}

// registerFile registers a definition and says so; it is nil when that did not
// work, which leaves the earlier version in place.
func (a *app) registerFile(ctx context.Context, cl *client.Client, file string) *definition.Definition {
	def, err := a.readDefinition(file)
	var registered *client.Definition
	if err == nil {
		registered, err = cl.Define(ctx, def.Name, def.Canonical())
	}
	if err != nil {
		fmt.Fprintln(a.err, "heddle: "+paragraph(err.Error()))
		return nil
	}
	a.warn(registered)
	fmt.Fprintf(a.out, "%s is registered from %s\n", shown(versioned(registered.DefinitionRef)), filepath.Base(file))
	return def
}
