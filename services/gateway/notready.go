package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// NotReady is what becomes of commands for workflows whose partition is not ready.
type NotReady string

// What may become of them.
const (
	AcceptNotReady NotReady = "accept" // they are written to Kafka, and wait there
	HoldNotReady   NotReady = "hold"   // they wait for the partition, as long as a planner may take to answer, and are refused then
	RefuseNotReady NotReady = "refuse" // they are refused at once
)

func (n NotReady) check() error {
	switch n {
	case "", AcceptNotReady, HoldNotReady, RefuseNotReady:
		return nil
	}
	return fmt.Errorf("what becomes of commands for partitions that are not ready is %q: want accept, hold or refuse", string(n))
}

// admit refuses a command for a workflow whose partition is published as not ready, where the setting says so. Operators' words
// to partitions are for just those. Where the readiness service is not heard nothing is known, and nothing refused.
func (g *Gateway) admit(ctx context.Context, workflow string) error {
	if g.cfg.NotReady == "" || g.cfg.NotReady == AcceptNotReady {
		return nil
	}
	if _, is := events.PartitionOf(workflow); is {
		return nil
	}
	p := kafka.PartitionFor([]byte(workflow), g.follow.partitions)
	limit := time.NewTimer(g.limits.Answer)
	defer limit.Stop()
	for {
		changed := g.follow.next()
		reasons, err := g.blocks(p)
		if err != nil || len(reasons) == 0 {
			return err
		}
		refusal := retry(refuse("unavailable", fmt.Sprintf("partition %d of the workflow is not ready: %s. Repeat the request under the same Idempotency-Key.", p, strings.Join(reasons, "; "))), 2)
		if g.cfg.NotReady == RefuseNotReady {
			return refusal
		}
		select {
		case <-changed:
		case <-limit.C:
			return refusal
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// blocks are the reasons for which a partition is published as not ready.
func (g *Gateway) blocks(p int32) ([]string, error) {
	one, why := g.snapshot(p)
	if why != "" {
		return nil, nil
	}
	is, err := readinessIn(p, one)
	if err != nil || is.Ready {
		return nil, err
	}
	return is.Reasons, nil
}
