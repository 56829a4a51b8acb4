package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// connect makes the clients. The members join their groups at once.
func (t *Worker) connect(ctx context.Context) error {
	var err error
	if t.producer, err = kafka.NewEffectsProducer(t.config.Kafka); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	t.produce = t.producer.Produce
	features, err := t.features(ctx)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	if err := t.missing(ctx); err != nil {
		return err
	}
	// Before the first attempt is taken, so that its cancellation is heard.
	if err := t.listen(ctx); err != nil {
		return err
	}
	for _, c := range t.consumers {
		if err := c.connect(features.ServerSideGroups && !t.config.Classic); err != nil {
			return fmt.Errorf("worker: %w", err)
		}
	}
	return nil
}

// features waits for the cluster, and for the right to report: a worker may be started
// before its broker, and before it is granted anything. Nothing is taken until then.
func (t *Worker) features(ctx context.Context) (f kafka.Features, err error) {
	for told := ""; ; {
		if f, err = kafka.LoadFeatures(ctx, t.producer); err == nil {
			err = kafka.MayWrite(ctx, t.producer)
		}
		if err == nil || !kafka.IsRetriable(err) && !kafka.IsUnauthorized(err) {
			return f, err
		}
		if err.Error() != told {
			told = err.Error()
			what := "the Kafka cluster does not answer; trying on"
			if kafka.IsUnauthorized(err) {
				what = "the Kafka cluster does not let this worker report, so it takes nothing; trying on"
			}
			t.log.Warn(what, "brokers", t.config.Kafka.Brokers, "error", err)
		}
		if pause(ctx, time.Second) != nil {
			return f, err
		}
	}
}

// missing tells of queues without a topic. They are waited for: a definition
// that names them may come later. A user who misspelled one reads it here.
func (t *Worker) missing(ctx context.Context) error {
	set, err := topics.Default().Discover(ctx, t.producer, t.names.Prefix())
	for kafka.IsMissing(err) && pause(ctx, time.Second) == nil { // they are being made
		set, err = topics.Default().Discover(ctx, t.producer, t.names.Prefix())
	}
	if _, none := errors.AsType[*topics.MismatchError](err); none {
		t.log.Warn("the cluster has no deployment of this prefix; waiting for it", "prefix", t.names.Prefix())
		return nil
	}
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	for _, c := range t.consumers {
		if !slices.Contains(set.Queues(), c.queue) {
			t.log.Warn("a queue has no topic; waiting for it (heddle topics apply --queue makes it)", "queue", c.queue, "topic", c.topic)
		}
	}
	return nil
}

func (t *Worker) close() {
	for _, c := range t.consumers {
		if cl := c.client.Load(); cl != nil {
			cl.Close()
		}
	}
	if t.tail != nil {
		t.tail.Close()
	}
	if t.producer != nil {
		t.producer.Close()
	}
}
