package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka/topics"
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
	all, err := members(ctx, cl, names.PlannerGroup())
	return all[names.PlannerGroup()], err
}

// Workers are the ids of the workers that take from each of the queues. A queue that
// nobody takes from has none.
func Workers(ctx context.Context, cl *kgo.Client, names topics.Names, queues ...string) (map[string][]string, error) {
	groups := make([]string, len(queues))
	for i, q := range queues {
		groups[i] = names.QueueGroup(q)
	}
	all, err := members(ctx, cl, groups...)
	if err != nil {
		return nil, err
	}
	workers := make(map[string][]string, len(queues))
	for i, q := range queues {
		workers[q] = all[groups[i]]
	}
	return workers, nil
}

// ServedQueues are the queues, sorted, that workers take from, of those whose groups
// this client may see.
func ServedQueues(ctx context.Context, cl *kgo.Client, names topics.Names) ([]string, error) {
	all, err := kadm.NewClient(cl).ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the groups of the task queues: %w", err)
	}
	var queues []string
	for _, g := range all.Sorted() {
		if q, ok := strings.CutPrefix(g.Group, names.QueueGroup("")); ok && g.State != "Empty" && g.State != "Dead" {
			queues = append(queues, q)
		}
	}
	return queues, nil
}

// members are the ids of the members by group. A group that was never there, or not
// for long, has none.
func members(ctx context.Context, cl *kgo.Client, groups ...string) (map[string][]string, error) {
	f, err := LoadFeatures(ctx, cl)
	if err != nil {
		return nil, err
	}
	describe := classicMembers
	if f.ServerSideGroups {
		describe = consumerMembers
	}
	all, err := describe(ctx, kadm.NewClient(cl), groups)
	if err != nil {
		return nil, fmt.Errorf("asking for the members of group %s: %w", strings.Join(groups, ", "), err)
	}
	return all, nil
}

func classicMembers(ctx context.Context, adm *kadm.Client, groups []string) (map[string][]string, error) {
	all, err := adm.DescribeGroups(ctx, groups...)
	ids := map[string][]string{}
	for _, g := range all {
		for _, m := range g.Members {
			ids[g.Group] = append(ids[g.Group], m.MemberID)
		}
		err = errors.Join(err, known(g.Err))
	}
	return ids, err
}

// consumerMembers is classicMembers of groups that the broker balances.
func consumerMembers(ctx context.Context, adm *kadm.Client, groups []string) (map[string][]string, error) {
	all, err := adm.DescribeConsumerGroups(ctx, groups...)
	ids := map[string][]string{}
	for _, g := range all {
		for _, m := range g.Members {
			ids[g.Group] = append(ids[g.Group], m.MemberID)
		}
		err = errors.Join(err, known(g.Err))
	}
	return ids, err
}

// known is the error of a group, if it is more than that there is none.
func known(err error) error {
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	}
	return err
}
