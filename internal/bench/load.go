package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// load starts workflows and awaits them, one after the other in each client.
type load struct {
	client   *client.Client
	workload Workload
	counting atomic.Bool // whether what ends now counts
}

// input is what every workflow is started with, and so what every step gets.
type input struct {
	Order int    `json:"order"`
	Item  string `json:"item"`
	Note  string `json:"note"`
}

// answerWithin bounds one workflow: what takes longer is an error.
const answerWithin = 60 * time.Second

// run is one client; it writes into s, which is the caller's again when run
// returns.
func (l *load) run(ctx context.Context, s *sample) {
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		err := l.one(ctx, n)
		took := time.Since(began)
		switch {
		case !l.counting.Load() || ctx.Err() != nil:
		case err != nil:
			s.errors++
			if s.first == nil {
				s.first = err
			}
		default:
			s.latencies = append(s.latencies, took)
		}
	}
}

// one starts a workflow and waits for its results.
func (l *load) one(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	in := input{Order: n, Item: "warp thread", Note: "every step returns what it gets"}
	run, err := l.client.Start(ctx, l.workload.definitionName(), in, client.UntilDrained())
	if err != nil {
		return err
	}
	w, err := run.Wait(ctx)
	if err != nil {
		return err
	}
	if w.Status != "completed" {
		return fmt.Errorf("workflow %s is %s", w.ID, w.Status)
	}
	return nil
}
