// Command heddle-sim runs planner clusters with faults in a deterministic simulation:
// one seed is one run, which can be repeated. It is for people who work on Heddle; the binary
// that runs workflows has none of it.
//
// It ends with 0 if every seed held, 1 if one failed, 2 on wrong usage, and 130 if it was
// interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/heddle-run/heddle/internal/faults"
	"github.com/heddle-run/heddle/test/sim"
)

// campaign are the flags.
type campaign struct {
	Seed    uint64        `default:"1" help:"The seed, or the first one of several."`
	Seeds   uint64        `default:"1" help:"How many seeds, from the first one on."`
	Steps   int           `default:"800" help:"Steps with faults; then everything has to come to rest."`
	Cluster string        `enum:"model,embedded" default:"model" help:"What planners run over: a model of a Kafka cluster, or the embedded broker."`
	Lines   int           `default:"400" help:"Lines of a failing run's history that are printed."`
	All     bool          `help:"Print all lines of a failing run, not only those that concern what fails."`
	Every   time.Duration `default:"30s" help:"Between two lines about the progress."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// The exit codes.
const (
	codeHeld        = 0
	codeFailed      = 1
	codeUsage       = 2
	codeInterrupted = 130
)

// run is the whole program.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	var c campaign
	asked := false
	parser, err := kong.New(&c, kong.Name("heddle-sim"), kong.Writers(out, errs), kong.Exit(func(int) { asked = true }),
		kong.Description("Run planner clusters with faults in a deterministic simulation."))
	if err != nil {
		fmt.Fprintln(errs, "heddle-sim:", err)
		return codeUsage
	}
	_, err = parser.Parse(args)
	switch {
	case asked:
		return codeHeld
	case err != nil:
		fmt.Fprintf(errs, "heddle-sim: %v\nsee: heddle-sim --help\n", err)
		return codeUsage
	}
	if !faults.Built {
		fmt.Fprintln(errs, "heddle-sim: it is built without the switches that its faults need: build it by `make build-sim`, or with -tags synctests")
		return codeUsage
	}
	debug.SetGCPercent(sim.Garbage)
	err = sim.Campaign{
		First: c.Seed, Count: c.Seeds, Steps: c.Steps, Embedded: c.Cluster == "embedded",
		Lines: c.Lines, All: c.All, Every: c.Every,
	}.Run(ctx, out)
	switch {
	case err == nil:
		return codeHeld
	case errors.Is(ctx.Err(), context.Canceled):
		fmt.Fprintln(errs, "heddle-sim: interrupted:", err)
		return codeInterrupted
	}
	fmt.Fprintln(errs, "heddle-sim:", err)
	return codeFailed
}
