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
	counting atomic.Bool   // whether what ends now counts
	missing  atomic.Int64  // workflows that have to end before the measurement may
	enough   chan struct{} // closed when they have
}

func newLoad(cl *client.Client, o Options) *load {
	l := &load{client: cl, workload: o.Workload, enough: make(chan struct{})}
	l.missing.Store(int64(max(1, o.AtLeast)))
	return l
}

// Input is what every workflow is started with, and so what every step gets.
type Input struct {
	Order int    `json:"order"`
	Item  string `json:"item"`
	Note  string `json:"note"`
}

// InputOf is the input of an order.
func InputOf(order int) Input {
	return Input{Order: order, Item: "warp thread", Note: "every step returns what it gets"}
}

// answerWithin bounds one workflow: what takes longer is an error.
const answerWithin = 60 * time.Second

// run is one client; it writes into s, which is the caller's again when run
// returns.
func (l *load) run(ctx context.Context, s *sample) {
	var fed *client.Run
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		var err error
		fed, err = l.one(ctx, fed, n)
		took := time.Since(began)
		if l.counting.Load() && ctx.Err() == nil {
			s.add(took, err)
			if l.missing.Add(-1) == 0 {
				close(l.enough)
			}
		}
	}
}

// one runs one order of a client, within answerWithin.
func (l *load) one(ctx context.Context, run *client.Run, n int) (*client.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return l.workload.Run(ctx, l.client, run, "", InputOf(n))
}

// Run starts a workflow by an ID (empty: a random one) and waits for its results, or feeds
// run where the workload is fed and there is one. It returns the run for the next input. That
// it has not come to the end that is expected is an error.
func (w Workload) Run(ctx context.Context, cl *client.Client, run *client.Run, id string, in Input) (*client.Run, error) {
	next, err := w.begin(ctx, cl, run, id, in)
	if err != nil {
		return run, err
	}
	is, err := next.Wait(ctx)
	if err != nil {
		return next, err
	}
	want := client.StatusCompleted
	if w.Fed {
		want = client.StatusIdle
	}
	if is.Status != want {
		return next, fmt.Errorf("workflow %s is %s", is.ID, is.Status)
	}
	return next, nil
}

func (w Workload) begin(ctx context.Context, cl *client.Client, run *client.Run, id string, in Input) (*client.Run, error) {
	if w.Fed && run != nil {
		return cl.InputAndWait(ctx, run.ID, in, client.InputOptions{})
	}
	return cl.Start(ctx, w.DefinitionName(), in, client.StartOptions{ID: id, Wait: client.UntilDrained})
}
