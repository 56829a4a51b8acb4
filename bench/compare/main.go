// Command compare measures two revisions of Heddle on this machine, in turns, and prints
// which workloads became faster or slower: make bench-compare BASE=REV.
//
// Each measurement is one process `heddle bench` of one of the two builds, so everything
// that a user's program would have is new: broker, planner, heap, files. The builds take
// turns because machines change their speed within seconds; what counts is the ratio of
// two measurements that follow each other. With --kafka or --brokers the services run as
// processes of their own over that broker, and the floor (the same records with empty
// logic) is measured there before each workload.
//
// It never fails because of a figure: it prints what it saw, and says where it saw too
// little. Start reading at run.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

type options struct {
	Base       string        `required:"" placeholder:"REV" help:"Revision to compare the working tree with."`
	Turns      int           `default:"5" help:"Times that each build measures each workload."`
	Duration   time.Duration `default:"6s" help:"Of each measurement, after its warm-up."`
	WarmUp     time.Duration `default:"2s" help:"Before each measurement."`
	Archive    []string      `default:"default,none" enum:"default,none" help:"Whether runs are archived as by default, or not at all: ${enum}."`
	Workload   []string      `placeholder:"NAME:CLIENTS" help:"Workloads, as chain10:128; without it chain10:1, chain10:128, chain10:512, fanout100:16 and single:512."`
	Kafka      bool          `xor:"kafka" help:"Start an Apache Kafka broker with --kafka-local, and measure the services over it."`
	Brokers    []string      `xor:"kafka" placeholder:"HOST:PORT" help:"Measure the services over this Kafka."`
	KafkaLocal string        `default:"../shared/testbed/kafka-local" type:"path" placeholder:"FILE" help:"Program that runs one broker: start DIR PORT prints its address, stop DIR."`
	WarmBroker time.Duration `default:"45s" help:"Load on the broker before the first measurement."`
}

func main() {
	var o options
	kong.Parse(&o, kong.Name("compare"), kong.Description("Measure two revisions of Heddle in turns."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// run builds both revisions, measures them in turns, and prints the table to out;
// progress goes to log.
func run(ctx context.Context, o options, out, log io.Writer) (err error) {
	settings, err := o.settings()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "heddle-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	base, err := buildRevision(ctx, o.Base, filepath.Join(dir, "base"), log)
	if err != nil {
		return err
	}
	tree, err := buildTree(ctx, filepath.Join(dir, "tree"), log)
	if err != nil {
		return err
	}
	floor := &build{name: "floor", binary: tree.binary}
	m := &meter{options: o, dir: dir, log: log, floor: floor}
	stop, err := m.startBroker(ctx)
	if err != nil {
		return err
	}
	defer stop()
	results := newResults(settings)
	for turn := range o.Turns {
		fmt.Fprintf(log, "turn %d of %d\n", turn+1, o.Turns)
		if err := m.turn(ctx, turn, base, tree, results); err != nil {
			return err
		}
	}
	return results.print(out, base.name, m.overKafka())
}
