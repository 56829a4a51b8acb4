// Package demo plays the order example: a deployment of its own, the example's
// HTTP service and worker, dozens of orders, and a planner whose process is killed
// in the middle. It is the first thing that somebody who tries
// Heddle sees, and a test: it fails unless every order ends once, as expected.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/heddle-run/heddle/examples/orders"
	"github.com/heddle-run/heddle/examples/orders/carrier"
	"github.com/heddle-run/heddle/examples/orders/shop"
	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
	"github.com/heddle-run/heddle/sdk/worker"
	"github.com/heddle-run/heddle/services/executor"
	"github.com/heddle-run/heddle/shared/definition"
)

// Options of a demo.
type Options struct {
	Out      io.Writer
	Terminal bool          // Out is a terminal: progress is drawn in place
	Every    time.Duration // between two orders; 0: 110 ms
	Planner  []string      // the command line of `heddle planner`
	Logger   *slog.Logger  // nil: silent
}

// demo is one run.
type demo struct {
	Options
	dev      *dev.Dev
	cl       *client.Client
	def      *definition.Definition
	shop     *shop.Shop
	progress *progress

	beside     sync.WaitGroup // the carrier and the worker
	stopBeside context.CancelFunc
	failed     chan error // of what runs beside
}

// carrierQueue is the queue that the HTTP service serves.
const carrierQueue = "carrier"

// Run plays the demo. Its error says what did not go as promised.
func Run(ctx context.Context, o Options) (err error) {
	if o.Every == 0 {
		o.Every = 110 * time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	cases, err := orders.Cases()
	if err != nil {
		return err
	}
	d := &demo{Options: o, shop: shop.New(), progress: newProgress(cases), failed: make(chan error, 2)}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.start(ctx); err != nil {
		return err
	}
	if err := d.play(ctx); err != nil {
		return err
	}
	return d.report(ctx)
}

func (d *demo) printf(format string, args ...any) { fmt.Fprintf(d.Out, format+"\n", args...) }

// start starts everything and registers the definition.
func (d *demo) start(ctx context.Context) error {
	began := time.Now()
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stopBeside = stop
	url, err := d.serveCarrier(ctx, beside)
	if err != nil {
		return err
	}
	d.dev, err = dev.Start(ctx, dev.Options{
		Services: map[string]executor.Service{carrierQueue: {URL: url + "/{task}", AllowPrivate: true}},
		Queues:   []string{shop.Validate.Queue()},
		Planner:  d.Planner,
		Logger:   d.Logger,
	})
	if err != nil {
		return err
	}
	d.printf("A broker, an executor and a gateway in this process, and a planner in one of its own: ready in %s.", round(time.Since(began)))
	d.printf("  API    %s\n  Kafka  %s\n  The planner's metrics are at %s\n", d.dev.URL, d.dev.Brokers[0], d.dev.PlannerMetrics())
	if err := d.serveShop(beside); err != nil {
		return err
	}
	if d.cl, err = kafkaclient.New(ctx, kafkaclient.Options{Brokers: d.dev.Brokers, Prefix: d.dev.Prefix, Source: "demo"}); err != nil {
		return err
	}
	if d.def, err = definition.Parse(orders.Definition); err != nil {
		return err
	}
	_, err = d.cl.Define(ctx, d.def.Name, d.def.Canonical())
	return err
}

// serveCarrier serves the example's HTTP service on a free port.
func (d *demo) serveCarrier(ctx, beside context.Context) (string, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("starting the carrier: %w", err)
	}
	srv := &http.Server{Handler: carrier.Handler(), ReadHeaderTimeout: 5 * time.Second}
	d.beside.Go(func() {
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			d.failed <- fmt.Errorf("the carrier: %w", err)
		}
	})
	context.AfterFunc(beside, func() { srv.Close() })
	return "http://" + ln.Addr().String(), nil
}

// serveShop runs the example's worker.
func (d *demo) serveShop(beside context.Context) error {
	w, err := worker.New(worker.Options{
		Brokers: d.dev.Brokers, Prefix: d.dev.Prefix, Name: "shop", DrainLimit: 5 * time.Second, Logger: d.Logger,
	})
	if err != nil {
		return err
	}
	d.shop.Serve(w)
	d.beside.Go(func() {
		if err := w.Run(beside); err != nil {
			d.failed <- fmt.Errorf("the shop: %w", err)
		}
	})
	return nil
}

// stop ends everything that start started, as far as it came.
func (d *demo) stop() error {
	var errs []error
	if d.stopBeside != nil {
		d.stopBeside()
	}
	d.beside.Wait()
	if d.cl != nil {
		errs = append(errs, d.cl.Close())
	}
	if d.dev != nil {
		errs = append(errs, d.dev.Stop())
	}
	return errors.Join(errs...)
}

// round drops digits that nobody reads.
func round(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}
