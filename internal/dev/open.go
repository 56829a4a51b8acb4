package dev

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/sdk/store/memory"
	"github.com/heddle-run/heddle/sdk/store/pebblestore"
	"github.com/heddle-run/heddle/shared/frames"
)

// open locks the data, starts the broker, takes the gateway's port and makes
// the topics.
func (d *Dev) open(ctx context.Context) (err error) {
	if d.data, err = openDir(d.options.Dir); err != nil {
		return err
	}
	d.Dir = d.data.path
	if d.key, err = d.data.tokenKey(); err != nil {
		return err
	}
	if d.listener, err = d.listen(ctx); err != nil {
		return err
	}
	d.address = d.listener.Addr().String()
	d.URL = "http://" + d.address
	d.RunnersURL = "ws://" + d.address + frames.Path
	if err = d.openArchive(); err != nil {
		return err
	}
	if d.broker, err = d.startBroker(ctx); err != nil {
		return err
	}
	d.Brokers = []string{d.broker.Addr()}
	d.config = kafka.Config{Brokers: d.Brokers, Prefix: d.options.Prefix, ClientID: "heddle-dev", Logger: d.logger}
	if d.options.Network != nil {
		d.config.Dialer = d.options.Network.DialContext
	}
	set, err := d.makeTopics(ctx)
	if err != nil {
		return err
	}
	d.Prefix, d.options.Partitions = set.Prefix(), set.Partitions()
	return nil
}

// openArchive opens the store of archived runs.
func (d *Dev) openArchive() (err error) {
	switch {
	case d.options.NoArchive:
		return nil
	case d.options.Store != nil:
		d.archive = d.options.Store
		return nil
	case d.options.Memory:
		d.own = memory.New()
	default:
		if d.own, err = pebblestore.New(pebblestore.Options{Dir: d.data.join("archive"), Logger: d.logger}); err != nil {
			return fmt.Errorf("opening the archive: %w", err)
		}
	}
	d.archive = d.own
	return nil
}

func (d *Dev) startBroker(ctx context.Context) (*broker.Broker, error) {
	o := broker.Options{Dir: d.data.join("broker"), Addr: d.options.Kafka, NextPort: d.options.NextKafka, Network: d.options.Network, Observe: d.options.ObserveBroker, Failed: d.options.BrokerFailed, Logger: d.logger}
	if d.options.Memory {
		o.Dir = ""
	}
	return broker.Start(ctx, o)
}

// ErrPartitions is a count of partitions that the data does not have: it is fixed
// with the first start.
var ErrPartitions = errors.New("the count of partitions is fixed")

// makeTopics applies the topics. Those of an earlier start keep their counts
// and their queues.
func (d *Dev) makeTopics(ctx context.Context) (*topics.Set, error) {
	cl, err := kafka.NewAdmin(d.config)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	o := topics.Options{Prefix: d.options.Prefix, Partitions: d.options.Partitions, Queues: d.options.Queues}
	for queue := range d.options.Services {
		o.Queues = append(o.Queues, queue)
	}
	found, err := topics.Default().Discover(ctx, cl, d.options.Prefix)
	var missing *topics.MismatchError
	switch {
	case err == nil && o.Partitions != 0 && o.Partitions != found.Partitions():
		return nil, fmt.Errorf("%w: the topics in %s have %d partitions, not %d; start without --partitions, or on another directory",
			ErrPartitions, d.Dir, found.Partitions(), o.Partitions)
	case err == nil:
		o.Partitions = found.Partitions()
		o.Queues = append(o.Queues, found.Queues()...)
	case !errors.As(err, &missing):
		return nil, err
	case o.Partitions == 0:
		o.Partitions = defaultPartitions
	}
	set, err := topics.Default().Set(o)
	if err != nil {
		return nil, err
	}
	if _, err := set.Apply(ctx, cl); err != nil {
		return nil, fmt.Errorf("making the topics: %w", err)
	}
	return set, nil
}

// announce writes dev.json, where the command line and the SDKs look.
func (d *Dev) announce() error {
	return devfile.Write(d.Dir, devfile.File{URL: d.URL, Brokers: d.Brokers, Prefix: d.Prefix, PID: os.Getpid()})
}
