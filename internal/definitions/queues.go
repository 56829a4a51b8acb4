package definitions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/policy"
)

// Queues knows which task queues exist: a task for a queue without a topic
// would wait for ever. It is safe for concurrent use.
type Queues struct {
	admin  *kgo.Client
	create bool

	mu  sync.Mutex
	set *topics.Set
}

// UnknownQueueError is a definition that names queues without a topic, where
// none may be created.
type UnknownQueueError struct {
	Queues []string
}

// Error names the command that adds the first of them.
func (e *UnknownQueueError) Error() string {
	return fmt.Sprintf("no topic for queue %s; create it with `heddle topics apply --queue %s`", strings.Join(e.Queues, ", "), e.Queues[0])
}

// NewQueues begins with the queues of set. With create the topics of missing
// ones are created, as far as the cluster allows it. The caller closes admin.
func NewQueues(set *topics.Set, admin *kgo.Client, create bool) *Queues {
	return &Queues{admin: admin, create: create, set: set}
}

// Ensure sees to it that every queue of a definition has a topic, or returns an
// *UnknownQueueError.
func (q *Queues) Ensure(ctx context.Context, d *definition.Definition) error {
	wanted, err := queuesOf(d)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	missing := q.missing(wanted)
	if len(missing) > 0 { // somebody may have made them since
		fresh, err := topics.Default().Discover(ctx, q.admin, q.set.Prefix())
		if err != nil {
			return err
		}
		q.set = fresh
		missing = q.missing(wanted)
	}
	if len(missing) > 0 && !q.create {
		return &UnknownQueueError{missing}
	}
	for i, name := range missing {
		err := q.set.AddQueue(ctx, q.admin, name)
		if kafka.IsUnauthorized(err) { // others create its topics
			return &UnknownQueueError{missing[i:]}
		}
		if err != nil {
			return fmt.Errorf("create queue %s: %w", name, err)
		}
	}
	return nil
}

func (q *Queues) missing(wanted []string) []string {
	have := q.set.Queues()
	return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(have, name) })
}

// queuesOf are the queues that the tasks of a definition go to, sorted.
func queuesOf(d *definition.Definition) ([]string, error) {
	g, err := definition.Compile(d)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, c := range g.Components {
		if c.Task == "" {
			continue
		}
		p, err := g.PolicyFor(c, nil, definition.Given{})
		switch {
		case err == nil && p.Mode == policy.External: // completed by its token
		case err == nil && p.Queue != "":
			all[p.Queue] = true
		default:
			all[c.Queue] = true
		}
	}
	return slices.Sorted(maps.Keys(all)), nil
}
