package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Features are what a cluster can do beyond the basics.
type Features struct {
	// ServerSideGroups: consumer groups that the broker balances (KIP-848).
	ServerSideGroups bool
	// ImplicitTxn: produce and TxnOffsetCommit join the transaction by
	// themselves (KIP-890, transaction.version 2).
	ImplicitTxn bool
}

// LoadFeatures asks the cluster.
func LoadFeatures(ctx context.Context, cl *kgo.Client) (Features, error) {
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
