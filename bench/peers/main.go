// Command peers runs the same durable workflows on several engines, one after the other
// on the same machine, and compares them. README.md says how to use it.
//
// Read on at Driver, which each engine implements in a file of its own, and at measure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const usageText = `usage:
  peers run    -driver NAME -workload NAME -c CLIENTS   measure one engine once
  peers matrix -drivers A,B -workloads X,Y -cs 1,128    measure every combination
  peers report FILE...                                  print tables of recorded runs
  peers list                                            list drivers and their workloads
Each command explains its flags with -h`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("a command is missing\n" + usageText)
	}
	switch name, rest := args[0], args[1:]; name {
	case "run":
		return runCommand(ctx, rest)
	case "matrix":
		return matrixCommand(ctx, rest)
	case "report":
		return reportCommand(rest)
	case "list":
		return listCommand()
	case "help", "-h", "-help", "--help":
		fmt.Println(usageText)
		return nil
	default:
		return fmt.Errorf("there is no command %q\n%s", name, usageText)
	}
}

func listCommand() error {
	for _, name := range driverNames() {
		d, err := newDriver(name)
		if err != nil {
			return err
		}
		fmt.Printf("%-18s %s\n", name, strings.Join(d.Workloads(), " "))
	}
	return nil
}

// settings are the flags that run and matrix share.
type settings struct {
	plan    Plan
	scratch string
	out     string
	fsync   bool
	quiet   time.Duration
	tries   int
}

// defaultScratch is where the setup script installs engines, too.
func defaultScratch() string {
	if dir := os.Getenv("PEERS_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), "heddle-peers")
}

func (s *settings) register(f *flag.FlagSet) {
	f.DurationVar(&s.plan.Window, "d", 20*time.Second, "measure for this long")
	f.DurationVar(&s.plan.MaxWindow, "max-d", time.Minute, "measure for up to this long, until each client has had three workflows")
	f.DurationVar(&s.plan.Warm, "warm", 5*time.Second, "warm up for this long")
	f.DurationVar(&s.plan.MaxWarm, "max-warm", 30*time.Second, "warm up for up to this long, until each client has had a workflow")
	f.BoolVar(&s.fsync, "fsync", false, "let Restate and PostgreSQL sync their logs before they acknowledge")
	f.StringVar(&s.scratch, "dir", defaultScratch(), "scratch directory, which the setup script filled (PEERS_DIR)")
	f.StringVar(&s.out, "out", "", "append the runs to this file")
	f.DurationVar(&s.quiet, "quiet", 10*time.Minute, "wait up to this long for a quiet machine before a run")
	f.IntVar(&s.tries, "tries", 3, "repeat a noisy run until this many were made; all are recorded")
}

// args are the flags by which another process gets the same settings.
func (s *settings) args() []string {
	return []string{
		"-d", s.plan.Window.String(), "-max-d", s.plan.MaxWindow.String(), "-warm", s.plan.Warm.String(), "-max-warm", s.plan.MaxWarm.String(),
		fmt.Sprintf("-fsync=%v", s.fsync), "-dir", s.scratch, "-out", s.out, "-quiet", s.quiet.String(), "-tries", fmt.Sprint(s.tries),
	}
}

func runCommand(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("run", flag.ExitOnError)
	var s settings
	s.register(f)
	driver := f.String("driver", "", "one of "+strings.Join(driverNames(), ", "))
	workload := f.String("workload", "chain10", "the shape of the workflows")
	clients := f.Int("c", 1, "clients, each with one workflow at a time")
	repetition := f.Int("rep", 1, "number of the repetition, only recorded")
	if err := f.Parse(args); err != nil {
		return err
	}
	for try := 1; ; try++ {
		if err := waitForQuiet(ctx, s.quiet); err != nil {
			return err
		}
		r, err := s.runOnce(ctx, *driver, Config{Workload: *workload, Concurrency: *clients}, *repetition)
		if err != nil {
			return err
		}
		if r.Failed != "" {
			return errors.New(r.String())
		}
		fmt.Println(r)
		if !r.Noisy || try >= s.tries {
			return nil
		}
	}
}

// runOnce empties the driver's directory, measures, and records the run.
func (s *settings) runOnce(ctx context.Context, driver string, cfg Config, repetition int) (Result, error) {
	if _, err := newDriver(driver); err != nil {
		return Result{}, err
	}
	cfg.Scratch, cfg.Fsync = s.scratch, s.fsync
	cfg.Dir = filepath.Join(s.scratch, "run", driver)
	if err := os.RemoveAll(cfg.Dir); err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return Result{}, err
	}
	if err := checkOnDisk(cfg.Dir); err != nil {
		return Result{}, err
	}
	r := measure(ctx, driver, cfg, s.plan, repetition)
	if s.out == "" {
		return r, nil
	}
	return r, record(s.out, r)
}
