package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// PlannerMembers are the ids of the members of the planner group.
func (c Config) PlannerMembers(ctx context.Context) ([]string, error) {
	names, err := c.Names()
	if err != nil {
		return nil, err
	}
	cl, err := NewAdmin(c)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	f, err := LoadFeatures(ctx, cl)
	if err != nil {
		return nil, err
	}
	describe := classicMembers
	if f.ServerSideGroups {
		describe = consumerMembers
	}
	ids, err := describe(ctx, kadm.NewClient(cl), names.PlannerGroup())
	switch {
	case errors.Is(err, kerr.GroupIDNotFound): // nobody was ever a member, or not for long
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("asking for the members of group %s: %w", names.PlannerGroup(), err)
	}
	return ids, nil
}

func classicMembers(ctx context.Context, adm *kadm.Client, group string) ([]string, error) {
	all, err := adm.DescribeGroups(ctx, group)
	var ids []string
	for _, m := range all[group].Members {
		ids = append(ids, m.MemberID)
	}
	return ids, errors.Join(err, all[group].Err)
}

// consumerMembers is classicMembers of a group that the broker balances.
func consumerMembers(ctx context.Context, adm *kadm.Client, group string) ([]string, error) {
	all, err := adm.DescribeConsumerGroups(ctx, group)
	var ids []string
	for _, m := range all[group].Members {
		ids = append(ids, m.MemberID)
	}
	return ids, errors.Join(err, all[group].Err)
}
