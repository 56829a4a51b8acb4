package client

import (
	"context"
	"sync"
	"time"

	"github.com/heddle-run/heddle/shared/search"
)

const (
	// bulkAtOnce is how many workflows are in hand at a time.
	bulkAtOnce = 16

	// bulkPage is how many workflows are asked for at a time.
	bulkPage = 500

	// bulkGrace is how long those in hand may take once no more are wanted.
	bulkGrace = 5 * time.Second
)

// bulk is one run of an operation.
type bulk struct {
	c    *Client
	cmd  BulkCommand
	o    BulkOptions
	pace *pace
	jobs sync.WaitGroup
}

// job is the command to one workflow.
type job struct {
	done   chan struct{}
	given  bool // the command may have been given
	result BulkResult
	err    error // ends the operation before this workflow
}

// run tells of the jobs in their order.
func (b *bulk) run(ctx context.Context, yield func(BulkResult, error) bool) {
	handing, stop := context.WithCancel(ctx)
	working, abandon := lingering(ctx, bulkGrace)
	jobs := make(chan *job, bulkAtOnce)
	go b.handOut(handing, working, jobs)
	defer func() {
		stop()
		abandon()
		for range jobs { // so that nobody waits to hand out
		}
		b.jobs.Wait()
	}()
	for j := range jobs {
		<-j.done
		if j.err != nil {
			stop()
			abandon()
			yield(BulkResult{InHand: inHand(j, jobs)}, j.err)
			return
		}
		if !yield(j.result, nil) {
			return
		}
	}
}

// inHand counts those of a job and the ones behind it whose command may have been given.
func inHand(j *job, behind <-chan *job) (n int) {
	if j.given {
		n++
	}
	for j := range behind {
		if <-j.done; j.given {
			n++
		}
	}
	return n
}

// lingering is a context that ends a while behind another one.
func lingering(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-out.Done():
		}
	})
	return out, func() { stop(); cancel() }
}

// handOut goes through the list. A job whose command is not given, and the one behind
// the last page that could be had, tell why.
func (b *bulk) handOut(ctx, working context.Context, jobs chan<- *job) {
	defer close(jobs)
	for next := b.o.Where.Cursor; ; {
		page, err := b.page(ctx, next)
		if err != nil {
			end := &job{done: make(chan struct{}), err: err}
			close(end.done)
			jobs <- end
			return
		}
		for i := range page.Items {
			if !b.give(ctx, working, jobs, &page.Items[i]) {
				return
			}
		}
		if next = page.Next; next == "" {
			return
		}
	}
}

// give hands out one workflow when it is time; false: no more are wanted.
func (b *bulk) give(ctx, working context.Context, jobs chan<- *job, w *Workflow) bool {
	j := &job{done: make(chan struct{})}
	jobs <- j
	if j.err = b.pace.take(ctx); j.err != nil {
		close(j.done)
		return false
	}
	j.given = true
	b.jobs.Go(func() {
		defer close(j.done)
		j.result = BulkResult{Workflow: w.ID, Next: search.Behind(w.CreatedAt, w.ID)}
		j.result.Outcome, j.result.Err, j.err = b.treat(working, w.ID)
	})
	return true
}

// page is a page of the list.
func (b *bulk) page(ctx context.Context, cursor string) (page *Page[Workflow], err error) {
	f := b.o.Where
	f.Cursor, f.Limit = cursor, bulkPage
	err = b.patiently(ctx, func() error {
		page, err = b.c.List(ctx, f)
		return err
	})
	return page, err
}
