package kafka

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// Features are what a cluster can do beyond the basics.
type Features struct {
	// ServerSideGroups: consumer groups that the broker balances (KIP-848),
	// with sessions as short as topics.yaml wants. Kafka's own default refuses
	// a group less than 45 s (group.consumer.min.session.timeout.ms); there
	// the classic protocol, whose members choose their session, notices a dead
	// planner sooner.
	ServerSideGroups bool
	// ImplicitTxn: produce and TxnOffsetCommit join the transaction by
	// themselves (KIP-890, transaction.version 2).
	ImplicitTxn bool
}

// LoadFeatures asks the cluster. All members of a group should go by the same
// answer.
func LoadFeatures(ctx context.Context, cl *kgo.Client) (Features, error) {
	f, err := versions(ctx, cl)
	if err == nil && f.ServerSideGroups {
		f.ServerSideGroups, err = shortSessions(ctx, cl)
	}
	return f, err
}

// versions is what the cluster's protocol versions say.
func versions(ctx context.Context, cl *kgo.Client) (Features, error) {
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		return Features{}, fmt.Errorf("ask the cluster for its features: %w", err)
	}
	var f Features
	for _, key := range resp.ApiKeys {
		if key.ApiKey == kmsg.ConsumerGroupHeartbeat.Int16() {
			f.ServerSideGroups = true
		}
	}
	for _, ff := range resp.FinalizedFeatures {
		switch ff.Name {
		case "transaction.version":
			f.ImplicitTxn = ff.MaxVersionLevel >= 2
		case "group.version":
			f.ServerSideGroups = f.ServerSideGroups && ff.MaxVersionLevel >= 1
		}
	}
	return f, nil
}

// shortSessions reports whether a broker lets its groups have the sessions of
// topics.yaml. A client that may not look at the broker's settings does not rely on them.
func shortSessions(ctx context.Context, cl *kgo.Client) (bool, error) {
	adm := kadm.NewClient(cl)
	brokers, err := adm.ListBrokers(ctx)
	if err != nil {
		return false, fmt.Errorf("list brokers: %w", err)
	}
	configs, err := adm.DescribeBrokerConfigs(ctx, brokers.NodeIDs()[0])
	if err == nil && len(configs) > 0 {
		err = configs[0].Err
	}
	if IsUnauthorized(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("describe broker settings: %w", err)
	}
	want := topics.Default().PlannerGroupSettings()
	for _, c := range configs[0].Configs {
		ms, err := strconv.ParseInt(c.MaybeValue(), 10, 64)
		if err != nil {
			continue // not a number, so not one of these
		}
		least := time.Duration(ms) * time.Millisecond
		if c.Key == "group.consumer.min.session.timeout.ms" && least > want.SessionTimeout ||
			c.Key == "group.consumer.min.heartbeat.interval.ms" && least > want.Heartbeat {
			return false, nil
		}
	}
	return true, nil
}
