package gateway

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/policy"
)

// queues knows which task queues exist: a task for a queue without a topic
// would wait for ever.
type queues struct {
	admin  *kgo.Client
	create bool

	mu  sync.Mutex
	set *topics.Set
}

func newQueues(set *topics.Set, admin *kgo.Client, create bool) *queues {
	return &queues{admin: admin, create: create, set: set}
}

// ensure refuses a definition whose queues do not exist, or creates them where
// the configuration allows it.
func (q *queues) ensure(ctx context.Context, d *definition.Definition) error {
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
		return refuseField("unknown_queue", "components", fmt.Sprintf(
			"no topic for queue %s; create it with `heddle topics apply --queue %s`", strings.Join(missing, ", "), missing[0]))
	}
	for _, name := range missing {
		if err := q.set.AddQueue(ctx, q.admin, name); err != nil {
			return fmt.Errorf("create queue %s: %w", name, err)
		}
	}
	return nil
}

func (q *queues) missing(wanted []string) []string {
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
		if c.Kind != definition.Step {
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
