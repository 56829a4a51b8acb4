// Command torture kills, suspends and starves the processes of a deployment
// again and again while workflows run, and then proves that nothing that was
// acknowledged was lost or done twice.
//
// There are two deployments: `heddle dev`, where all dies at once, and the
// services as processes of their own over one broker. Outside of them, an
// accountant starts workflows over Kafka and HTTP and writes down which starts
// were acknowledged, and runs their steps and writes down which. Random
// processes are killed with SIGKILL at random moments, also while they start,
// and started again; suspended for longer than their sessions and leases, so
// that they wake when others have taken over; and the small disks that they
// write to are filled and freed. In the end every workflow whose start was
// acknowledged must have ended once, with the right result: the planners'
// answers and the journal itself are compared with the accountant's book.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options of a run.
type options struct {
	heddle     string        // the binary
	deployment string        // dev, services
	duration   time.Duration // of the torture
	every      time.Duration // mean time between two faults; 0: the deployment's
	seed       uint64        // of the moments and the inputs
	clients    int           // starting at a time
	rate       int           // starts per second
	bench      int           // workflows at a time of a `heddle bench` beside the accountant; 0: none
	diskMiB    int           // size of the broker's disk; 0: no disk is filled
	settle     time.Duration // for what is open after the last fault
	keep       bool          // the directory
}

func main() {
	var o options
	flag.StringVar(&o.heddle, "heddle", "bin/heddle", "the heddle binary")
	flag.StringVar(&o.deployment, "deployment", "dev", "dev: heddle dev; services: the services as processes over one broker")
	flag.DurationVar(&o.duration, "duration", 45*time.Second, "how long")
	flag.DurationVar(&o.every, "every", 2*time.Second, "mean time between two faults")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of the faults, their moments and the inputs")
	flag.IntVar(&o.clients, "clients", 24, "clients that start workflows")
	flag.IntVar(&o.rate, "rate", 100, "workflows to start per second, at most")
	flag.IntVar(&o.bench, "bench", 1, "workflows at a time of a heddle bench beside it, in turns of a minute; 0 for none")
	flag.IntVar(&o.diskMiB, "disk", 256, "MiB of the broker's disk, a tmpfs, which needs root; 0: on the usual disk, and none is ever full")
	flag.DurationVar(&o.settle, "settle", 2*time.Minute, "time for everything to end after the last fault")
	flag.BoolVar(&o.keep, "keep", false, "keep the directory with logs and data")
	flag.Parse()
	if deployments[o.deployment] == nil {
		fmt.Fprintf(os.Stderr, "torture: there is no deployment %q\n", o.deployment)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "torture: --deployment %s --seed %d: %v\n", o.deployment, o.seed, err)
		os.Exit(1)
	}
}

// run tortures a deployment in a directory of its own.
func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "heddle-torture-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	diary, err := newDiary(dir)
	if err != nil {
		return err
	}
	diary.note("deployment %s, seed %d, %s; logs are in %s", o.deployment, o.seed, o.duration, dir)
	if o.diskMiB == 0 {
		diary.note("NO DISK IS FILLED in this run: --disk 0 was asked for")
	}
	d := newDeployment(o, dir, diary)
	defer func() { err = errors.Join(err, d.close(o.keep || err != nil)) }()
	if err := d.compose(ctx, o); err != nil {
		return err
	}
	director := newDirector(d)
	if err := director.run(ctx, nil, nil); err != nil {
		return err
	}
	a, err := newAccountant(ctx, d, o)
	if err != nil {
		return err
	}
	defer a.close()
	if err := torture(ctx, o, director, a); err != nil {
		d.interrogate()
		return err
	}
	if err := a.settle(ctx, o.settle); err != nil {
		err = errors.Join(err, d.explain(ctx, a.unsettled))
		d.interrogate()
		return err
	}
	return judge(ctx, director, a)
}

// torture follows the plan while the accountant works, and leaves everything
// running.
func torture(ctx context.Context, o options, director *director, a *accountant) error {
	a.begin(ctx)
	defer a.end()
	b, err := startBench(o, director.d)
	if err != nil {
		return err
	}
	steps := planned(rand.New(rand.NewPCG(o.seed, 1)), director.d.frailties, o.every, o.duration)
	err = director.run(ctx, steps, a.workErr)
	return errors.Join(err, b.finish())
}

// judge compares the books, stops everything in order, and prints the verdict.
func judge(ctx context.Context, director *director, a *accountant) error {
	verdict, err := a.verify(ctx)
	if err != nil {
		return err
	}
	for _, w := range director.wrong {
		verdict.fail("", "%s", w)
	}
	if err := director.d.explain(ctx, verdict.suspects); err != nil {
		return err
	}
	a.close() // clients leave their groups before the broker stops
	if err := director.d.stop(); err != nil {
		verdict.fail("", "stopping in the end: %v", err)
	}
	defects, err := director.d.defects()
	if err != nil {
		return err
	}
	for _, defect := range defects {
		verdict.fail("", "%s", defect)
	}
	director.print()
	verdict.print()
	return verdict.err()
}
