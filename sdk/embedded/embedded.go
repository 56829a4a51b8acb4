package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/worker"
)

// ErrInUse is a data directory that another Runner, of this program or another, has open.
var ErrInUse = errors.New("embedded: another runner uses this data directory; close that one, or give this one another")

// ErrFailed is a part of a Runner that has ended though nobody closed it, as where the disk
// is full. The program should end, or close the Runner and open another one.
var ErrFailed = errors.New("embedded: a part of the runner has ended by itself")

// Runner is a running deployment, or this program's part in one. Close it.
type Runner struct {
	Client *client.Client // of the deployment; Close closes it

	services *dev.Dev // nil: they are a cluster's
	stopWork context.CancelFunc
	worked   chan error // what the worker ended with

	closing   chan struct{} // closed when Close begins
	closeOnce sync.Once
	closeErr  error

	failOnce sync.Once
	failed   chan struct{} // closed when a part has ended by itself
	failure  error         // valid once failed is closed
	stuck    chan struct{} // closed when the broker has failed: no service can be stopped
}

// Open starts everything and returns when it can be used; a cluster is not asked before the
// first call. ctx bounds the start only. Errors are ErrOptions, ErrInUse, ErrFailed, what
// ctx ended with, or faults.
func Open(ctx context.Context, o Options) (_ *Runner, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("embedded: %w", context.Cause(ctx))
	}
	if o.Logger == nil {
		o.Logger = slog.New(warnings{slog.Default().Handler()})
	}
	r := &Runner{closing: make(chan struct{}), failed: make(chan struct{}), stuck: make(chan struct{})}
	network := new(broker.Network)
	if !o.cluster() {
		o.Worker.Brokers, o.Worker.Dialer = []string{kafkaInside}, network.DialContext
	}
	w, queues, err := o.worker()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			if closeErr := r.Close(); closeErr != nil && !errors.Is(err, closeErr) {
				err = errors.Join(err, closeErr)
			}
		}
	}()
	if o.Client.URL == "" {
		if err := r.serve(ctx, o.services(network, queues, r.brokerFailed)); err != nil {
			return nil, err
		}
		o.Client.URL, o.Client.HTTPClient = r.services.URL, r.services.HTTPClient
	}
	if r.Client, err = client.New(ctx, o.Client); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	if w != nil {
		r.work(w)
	}
	return r, nil
}

// worker is the program's worker with its tasks, nil where it has none.
func (o Options) worker() (*worker.Worker, []string, error) {
	if o.Tasks == nil {
		return nil, nil, nil
	}
	w, err := worker.New(o.Worker)
	if err != nil {
		return nil, nil, wrong("%w", err)
	}
	o.Tasks(w)
	queues, err := w.Queues()
	if err != nil {
		return nil, nil, wrong("%w", err)
	}
	return w, queues, nil
}

// serve starts the services and watches over them.
func (r *Runner) serve(ctx context.Context, o dev.Options) error {
	var d *dev.Dev
	err := r.unlessStuck(func() (err error) {
		d, err = dev.Start(ctx, o)
		return err
	})
	switch {
	case errors.Is(err, dev.ErrInUse):
		return fmt.Errorf("%w: %s", ErrInUse, o.Dir)
	case errors.Is(err, ErrFailed):
		return err
	case err != nil:
		return fmt.Errorf("embedded: %w", err)
	}
	r.services = d
	go func() {
		select {
		case err := <-d.Ended():
			r.fail(err)
		case <-r.closing:
		}
	}()
	return nil
}

// work runs the worker until Close.
func (r *Runner) work(w *worker.Worker) {
	ctx, stop := context.WithCancel(context.Background())
	r.stopWork, r.worked = stop, make(chan error, 1)
	go func() {
		err := w.Run(ctx)
		if ctx.Err() == nil {
			r.fail(fmt.Errorf("the worker: %w", err))
		}
		r.worked <- err
	}()
}

func (r *Runner) fail(err error) {
	r.failOnce.Do(func() {
		r.failure = fmt.Errorf("%w: %w", ErrFailed, err)
		close(r.failed)
	})
}

// brokerFailed is called at most once.
func (r *Runner) brokerFailed(err error) {
	r.fail(err)
	close(r.stuck)
}

// unlessStuck runs fn, and leaves it behind when the broker fails: it answers nobody then,
// and what waits for it waits for ever.
func (r *Runner) unlessStuck(fn func() error) error {
	select {
	case <-r.stuck:
		return r.failure
	default:
	}
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		return err
	case <-r.stuck:
		return r.failure
	}
}

// Wait returns nil when ctx has ended or Close has begun, and ErrFailed as soon as a part of
// the Runner has ended by itself.
func (r *Runner) Wait(ctx context.Context) error {
	select {
	case <-r.failed:
		return r.failure
	default:
	}
	select {
	case <-r.failed:
		return r.failure
	case <-r.closing:
	case <-ctx.Done():
	}
	return nil
}

// Close ends the worker, whose attempts may finish within Worker.DrainLimit (25 s), then the
// client, then the services. Workflows go on where they stopped at the next Open of the same
// Dir, as they do where a program ends without Close. Once the broker could not write to Dir
// nothing can be ended in order: Close returns ErrFailed at once, and the program should end.
// Closing again returns the same error.
func (r *Runner) Close() error {
	r.closeOnce.Do(func() {
		close(r.closing)
		r.closeErr = r.unlessStuck(r.end)
	})
	return r.closeErr
}

func (r *Runner) end() error {
	var errs []error
	if r.stopWork != nil {
		r.stopWork()
		errs = append(errs, <-r.worked)
	}
	if r.Client != nil {
		errs = append(errs, r.Client.Close())
	}
	if r.services != nil {
		errs = append(errs, r.services.Stop())
	}
	return errors.Join(errs...)
}
