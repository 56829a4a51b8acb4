package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// matrixCommand measures every combination. Repetitions are the outer loop and drivers
// the inner one: runs that are compared stand side by side in time, so that a machine
// that becomes slower does so for all.
func matrixCommand(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("matrix", flag.ExitOnError)
	var s settings
	s.register(f)
	drivers := f.String("drivers", "restate,dbos,heddle", "drivers, separated by commas")
	workloads := f.String("workloads", "chain10,fanout100,single", "workloads, separated by commas; a driver skips those that it lacks")
	concurrencies := f.String("cs", "1,16,128", "numbers of clients, separated by commas")
	repetitions := f.Int("reps", 3, "repetitions")
	if err := f.Parse(args); err != nil {
		return err
	}
	var failed []error
	for rep := 1; rep <= *repetitions; rep++ {
		for _, w := range strings.Split(*workloads, ",") {
			for _, c := range strings.Split(*concurrencies, ",") {
				for _, d := range strings.Split(*drivers, ",") {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					if err := s.runApart(ctx, d, w, c, rep); err != nil {
						failed = append(failed, fmt.Errorf("%s, %s, c=%s: %w", d, w, c, err))
					}
				}
			}
		}
	}
	return errors.Join(failed...)
}

// runApart runs one combination in a process of its own: heap, caches and goroutines
// of one run do not colour the next.
func (s *settings) runApart(ctx context.Context, driver, workloadName, concurrency string, repetition int) error {
	d, err := newDriver(driver)
	if err != nil {
		return err
	}
	if _, err := workload(workloadName); err != nil {
		return err
	}
	if !slices.Contains(d.Workloads(), workloadName) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	once := s.quiet + startTimeout + s.plan.MaxWarm + s.plan.MaxWindow + 2*stopTimeout
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.tries)*once)
	defer cancel()
	args := append([]string{"run", "-driver", driver, "-workload", workloadName, "-c", concurrency, "-rep", strconv.Itoa(repetition)}, s.args()...)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it stops its servers
	cmd.WaitDelay = stopTimeout
	return cmd.Run()
}
