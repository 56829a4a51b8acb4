// Command torture kills `heddle dev` again and again while workflows run, and
// then proves that nothing that was acknowledged was lost or done twice.
//
// It starts the heddle binary as a child on a directory of its own. Outside of
// it, an accountant starts workflows over Kafka and HTTP and writes down which
// starts were acknowledged, and a worker runs their steps. The child is killed
// with SIGKILL at random moments, also while it starts, and started again on
// the same data. In the end every workflow whose start was acknowledged must
// have ended once, with the right result: the planners' answers and the journal
// itself are compared with the accountant's book.
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
	heddle   string        // the binary
	kills    int           // how often
	duration time.Duration // over which the kills are spread
	seed     uint64        // of the moments and the inputs
	clients  int           // starting at a time
	rate     int           // starts per second
	bench    int           // workflows at a time of a `heddle bench` beside the accountant; 0: none
	settle   time.Duration // for what is open after the last kill
	keep     bool          // the data directory
	verbose  bool          // the child's log
}

func main() {
	var o options
	flag.StringVar(&o.heddle, "heddle", "bin/heddle", "the heddle binary")
	flag.IntVar(&o.kills, "kills", 20, "how often to kill")
	flag.DurationVar(&o.duration, "duration", 45*time.Second, "time over which the kills are spread")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of the moments and inputs")
	flag.IntVar(&o.clients, "clients", 24, "clients that start workflows")
	flag.IntVar(&o.rate, "rate", 300, "workflows to start per second, at most")
	flag.IntVar(&o.bench, "bench", 8, "workflows at a time of a heddle bench beside it; 0 for none")
	flag.DurationVar(&o.settle, "settle", 2*time.Minute, "time for everything to end after the last kill")
	flag.BoolVar(&o.keep, "keep", false, "keep the data directory")
	flag.BoolVar(&o.verbose, "verbose", false, "show the child's log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "torture: seed %d: %v\n", o.seed, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "heddle-torture-")
	if err != nil {
		return fmt.Errorf("making a data directory: %w", err)
	}
	defer func() {
		if o.keep || err != nil {
			fmt.Println("the data is kept in", dir)
			return
		}
		err = os.RemoveAll(dir)
	}()
	fmt.Printf("seed %d: %d kills over %s\n", o.seed, o.kills, o.duration)
	c, err := newChild(o, dir)
	if err != nil {
		return err
	}
	defer c.kill()
	if err := c.start(); err != nil {
		return err
	}
	if _, err := c.ready(ctx, time.Minute); err != nil {
		return err
	}
	a, err := newAccountant(ctx, c, o)
	if err != nil {
		return err
	}
	defer a.close()
	if err := torture(ctx, o, c, a); err != nil {
		return err
	}
	if err := a.settle(ctx, o.settle); err != nil {
		return err
	}
	verdict, err := a.verify(ctx)
	if err != nil {
		return err
	}
	verdict.print()
	if err := c.stop(time.Minute); err != nil {
		return fmt.Errorf("stopping the child in the end: %w", err)
	}
	return verdict.err()
}

// torture kills and restarts while the accountant works, and leaves the child
// running.
func torture(ctx context.Context, o options, c *child, a *accountant) error {
	random := rand.New(rand.NewPCG(o.seed, 1))
	mean := o.duration / time.Duration(max(o.kills, 1))
	a.begin(ctx)
	defer a.end()
	b, err := startBench(o, c)
	if err != nil {
		return err
	}
	defer b.stop()
	for n := 1; n <= o.kills; n++ {
		// Anything from a kill right after the start to one in full work.
		alive := time.Duration(random.Int64N(int64(2 * mean)))
		if err := a.watch(ctx, alive); err != nil {
			return err
		}
		c.kill()
		began := time.Now()
		if err := c.start(); err != nil {
			return err
		}
		fmt.Printf("kill %2d of %d after %5.2fs: %5d workflows acknowledged so far\n", n, o.kills, alive.Seconds(), a.book.acknowledged())
		if n%5 != 0 {
			continue // the next kill may hit the start
		}
		took, err := c.ready(ctx, time.Minute)
		if err != nil {
			return err
		}
		fmt.Printf("   ready again after %.2fs (%s since the kill)\n", took.Seconds(), time.Since(began).Round(time.Millisecond))
	}
	_, err = c.ready(ctx, time.Minute)
	return errors.Join(err, a.watch(ctx, mean))
}
