package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// topicsCmd compares a cluster's topics with what Heddle needs.
type topicsCmd struct {
	Apply topicsApplyCmd `cmd:"" help:"Create what is missing and fix settings; deletes nothing."`
	Diff  topicsDiffCmd  `cmd:"" help:"Print how the cluster differs."`
	Check topicsCheckCmd `cmd:"" help:"Exit 1 if the cluster differs."`
}

// cluster are the settings that say which deployment on which cluster.
type cluster struct {
	Brokers       []string `required:"" placeholder:"HOST:PORT" help:"Kafka brokers to begin with."`
	Prefix        string   `default:"heddle." help:"Prefix of the deployment's topics, groups and transactional ids."`
	kafkaSecurity `group:"Access to Kafka"`
}

func (c *cluster) kafka() kafka.Config {
	return kafka.Config{Brokers: c.Brokers, Prefix: c.Prefix, Security: c.security()}
}

// reachTime bounds the first words with a cluster.
const reachTime = 10 * time.Second

// connect makes an administration client and checks that a broker answers. The
// caller closes it.
func (c *cluster) connect(ctx context.Context) (*kgo.Client, error) { return reach(ctx, c.kafka()) }

func reach(ctx context.Context, config kafka.Config) (*kgo.Client, error) {
	cl, err := kafka.NewAdmin(config)
	if err != nil {
		return nil, usageError("%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	if err := cl.Ping(ctx); err != nil {
		cl.Close()
		return nil, unreachable(config.Unreached(err))
	}
	return cl, nil
}

// topicSettings choose the topics of a deployment.
type topicSettings struct {
	cluster
	Partitions      int32    `help:"Partitions of the topics keyed by workflow ID, fixed for ever; default: those of a deployment that exists, else 64."`
	QueuePartitions int32    `help:"Partitions of task queues; default: as many as --partitions."`
	Replicas        int16    `help:"Replicas; default: as many as there are brokers, at most 3."`
	Queue           []string `help:"Task queues besides the default one."`
}

// open connects and resolves the wanted topics: those of the flags, and the
// queues and counts of a deployment that exists.
func (c *topicSettings) open(ctx context.Context) (*kgo.Client, *topics.Set, error) {
	cl, err := c.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	set, err := c.set(ctx, cl)
	if err != nil {
		cl.Close()
		return nil, nil, err
	}
	return cl, set, nil
}

func (c *topicSettings) set(ctx context.Context, cl *kgo.Client) (*topics.Set, error) {
	o := topics.Options{
		Prefix: c.Prefix, Partitions: c.Partitions, QueuePartitions: c.QueuePartitions,
		Replication: c.Replicas, Queues: c.Queue,
	}
	found, err := topics.Default().Discover(ctx, cl, c.Prefix)
	if err == nil {
		o.Queues = append(o.Queues, found.Queues()...)
		if o.Partitions == 0 {
			o.Partitions = found.Partitions()
		}
	} else if !isMismatch(err) {
		return nil, unreachable(err)
	}
	set, err := topics.Default().Set(o)
	if err != nil {
		return nil, usageError("%w", err)
	}
	return set, nil
}

type topicsApplyCmd struct{ topicSettings }

// Run implements the command.
func (c *topicsApplyCmd) Run(a *app) error {
	cl, set, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	changed, err := set.Apply(a, cl)
	if err != nil {
		return err
	}
	return a.printDifferences(changed, "the topics were as they should be", "created or fixed:")
}

type topicsDiffCmd struct{ topicSettings }

// Run implements the command.
func (c *topicsDiffCmd) Run(a *app) error {
	cl, set, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	diffs, err := set.Diff(a, cl)
	if err != nil {
		return err
	}
	return a.printDifferences(diffs, "the topics are as they should be", "what `heddle topics apply` would change:")
}

type topicsCheckCmd struct{ topicSettings }

// Run implements the command.
func (c *topicsCheckCmd) Run(a *app) error {
	cl, set, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := set.Check(a, cl); err != nil {
		return err
	}
	return a.printDifferences(nil, "the topics are as they should be", "")
}

// difference is one line of `topics diff -o json`.
type difference struct {
	Topic   string `json:"topic"`
	Setting string `json:"setting"`
	Have    string `json:"have,omitempty"`
	Want    string `json:"want,omitempty"`
	Fixed   bool   `json:"fixed"`
	Deletes bool   `json:"deletes"` // records that may not be read yet
	Grows   bool   `json:"grows"`   // it is longer than it should be before it is compacted
}

func (a *app) printDifferences(diffs []topics.Difference, none, some string) error {
	all := make([]difference, len(diffs))
	for i, d := range diffs {
		all[i] = difference(d)
	}
	return a.print(listed[difference]{Items: all}, func(w io.Writer) {
		if len(diffs) == 0 {
			fmt.Fprintln(w, none)
			return
		}
		fmt.Fprintln(w, some)
		for _, d := range diffs {
			fmt.Fprintln(w, "  "+shown(d.String()))
		}
	})
}

func isMismatch(err error) bool {
	var mismatch *topics.MismatchError
	return errors.As(err, &mismatch)
}
