package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// leastBatch is what no limit is believed to be below.
const leastBatch = 16 << 10

// Limits are the largest batches of topics, where a broker takes less than
// topics.yaml wants. Clients that are made later heed what is learnt, and producers of
// effects at once. The zero value is ready; it is safe for concurrent use.
type Limits struct {
	mu     sync.Mutex
	learnt map[string]int32
	heed   map[*readopt]struct{}
}

// Of is the limit of a topic, which is want where nothing else is known.
func (l *Limits) Of(topic string, want int32) int32 {
	if l == nil {
		return want
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n, ok := l.learnt[topic]; ok {
		return min(n, want)
	}
	return want
}

// learn returns once producers of effects heed the limit: what they have of the topic
// fails, as for a while, and what they are given later comes in smaller batches.
func (l *Limits) learn(topic string, limit int32) {
	l.mu.Lock()
	if l.learnt == nil {
		l.learnt = map[string]int32{}
	}
	l.learnt[topic] = limit
	heed := slices.Collect(maps.Keys(l.heed))
	l.mu.Unlock()
	for _, h := range heed { // their clients ask for limits meanwhile
		h.purge(topic)
	}
}

// tell has a producer heed what is learnt from now on, or no more.
func (l *Limits) tell(h *readopt, heeds bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !heeds {
		delete(l.heed, h)
		return
	}
	if l.heed == nil {
		l.heed = map[*readopt]struct{}{}
	}
	l.heed[h] = struct{}{}
}

// LearnLimit finds out the largest batch of a topic whose broker has refused one
// (IsTooLarge). Of a broker that does not tell, half of what was known is believed.
// It returns the limit, and whether that is less than what was known: if not, it
// was one record that is too large. c has its Limits.
func (c Config) LearnLimit(ctx context.Context, topic string) (limit int32, less bool, err error) {
	names, err := c.Names()
	if err != nil {
		return 0, false, err
	}
	known := c.Limits.Of(topic, topics.Default().MaxBytes(names, topic))
	limit, err = c.askLimit(ctx, topic)
	if err != nil {
		if ctx.Err() != nil {
			return 0, false, err
		}
		limit = known / 2
	}
	if limit = max(limit, leastBatch); limit >= known {
		return known, false, nil
	}
	c.Limits.learn(topic, limit)
	return limit, true, nil
}

// askLimit asks for max.message.bytes of a topic.
func (c Config) askLimit(ctx context.Context, topic string) (int32, error) {
	cl, err := NewAdmin(c)
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	all, err := kadm.NewClient(cl).DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return 0, fmt.Errorf("asking for the limit of topic %s: %w", topic, err)
	}
	of, err := all.On(topic, nil)
	if err = errors.Join(err, of.Err); err != nil {
		return 0, fmt.Errorf("asking for the limit of topic %s: %w", topic, err)
	}
	for _, s := range of.Configs {
		if s.Key == "max.message.bytes" && s.Value != nil {
			n, err := strconv.ParseInt(*s.Value, 10, 32)
			return int32(n), err
		}
	}
	return 0, fmt.Errorf("topic %s does not tell its max.message.bytes", topic)
}
