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
	var fed *client.Run
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		var err error
		if fed, err = l.one(ctx, fed, n); !l.workload.Fed {
			fed = nil
		}
		took := time.Since(began)
		if l.counting.Load() && ctx.Err() == nil {
			s.add(took, err)
			if l.missing.Add(-1) == 0 {
				close(l.enough)
			}
		}
	}
}

// one starts a workflow, or feeds the one that there is, and waits for its results.
func (l *load) one(ctx context.Context, run *client.Run, n int) (*client.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	in := input{Order: n, Item: "warp thread", Note: "every step returns what it gets"}
	next, err := l.feed(ctx, run, in)
	if err != nil {
		return run, err
	}
	w, err := next.Wait(ctx)
	if err != nil {
		return next, err
	}
	want := client.StatusCompleted
	if l.workload.Fed {
		want = client.StatusIdle
	}
	if w.Status != want {
		return next, fmt.Errorf("workflow %s is %s", w.ID, w.Status)
	}
	return next, nil
}

func (l *load) feed(ctx context.Context, run *client.Run, in input) (*client.Run, error) {
	if run != nil {
		return l.client.InputAndWait(ctx, run.ID, in, client.InputOptions{})
	}
	return l.client.Start(ctx, l.workload.DefinitionName(), in, client.StartOptions{Wait: client.UntilDrained})
}
