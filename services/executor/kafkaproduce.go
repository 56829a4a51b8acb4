package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
)

// kafkaProduce is the task kafka.produce. It has a producer of its own: a topic
// that blocks must not block the outcomes of other attempts.
type kafkaProduce struct {
	client  *kgo.Client // nil: no topic is allowed
	names   topics.Names
	allowed []string
}

// produceTimeout bounds the wait for the broker's acknowledgement.
const produceTimeout = 30 * time.Second

// Headers that every produced record has: consumers drop repetitions by the
// first, and go on with the trace.
const (
	idHeader    = "heddle-id"
	traceHeader = "traceparent"
)

func newKafkaProduce(c *Config) (*kafkaProduce, error) {
	names, err := c.Kafka.Names()
	if err != nil {
		return nil, err
	}
	k := &kafkaProduce{names: names, allowed: c.Topics}
	if len(c.Topics) > 0 {
		if k.client, err = kafka.NewEffectsProducer(c.Kafka); err != nil {
			return nil, fmt.Errorf("executor: kafka.produce: %w", err)
		}
	}
	return k, nil
}

func (k *kafkaProduce) close() {
	if k.client != nil {
		k.client.Close()
	}
}

// produceParams is the input of kafka.produce. A string value is written as it
// is, anything else as JSON; null is a tombstone.
type produceParams struct {
	Topic   string            `json:"topic"`
	Key     *string           `json:"key"` // the workflow ID
	Value   json.RawMessage   `json:"value"`
	Headers map[string]string `json:"headers"`
}

// Run implements worker.Handler. The result is {topic, partition, offset}.
func (k *kafkaProduce) Run(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
	var p produceParams
	if err := parameters(a, &p); err != nil {
		return nil, err
	}
	if err := k.check(p.Topic); err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, produceTimeout)
	defer cancel()
	r, err := k.client.ProduceSync(timed, p.record(a)).First()
	switch {
	case err == nil:
	case kafka.IsTooLarge(err):
		return nil, refuse(events.ErrorInvalidInput, "the record does not fit the topic: %v", err)
	default:
		return nil, requestError(ctx, fmt.Errorf("producing to %s: %w", p.Topic, err))
	}
	return json.Marshal(map[string]any{"topic": r.Topic, "partition": r.Partition, "offset": r.Offset})
}

// check refuses topics that the settings do not allow, and Heddle's own whatever
// they say: what is written there is decided by planners.
func (k *kafkaProduce) check(topic string) error {
	switch {
	case topic == "":
		return refuse(events.ErrorInvalidInput, "kafka.produce: topic is missing")
	case strings.HasPrefix(topic, k.names.Prefix()):
		return refuse(errorTopicForbidden, "the topic %q is one of Heddle's own", topic)
	}
	for _, pattern := range k.allowed {
		prefix, wild := strings.CutSuffix(pattern, "*")
		if pattern == topic || wild && strings.HasPrefix(topic, prefix) {
			return nil
		}
	}
	return refuse(errorTopicForbidden, "the topic %q is not in the executor's list of allowed topics", topic)
}

const errorTopicForbidden = "topic_forbidden"

func (p *produceParams) record(a *worker.Attempt) *kgo.Record {
	key := a.Workflow
	if p.Key != nil {
		key = *p.Key
	}
	headers := []kgo.RecordHeader{kafka.Header(idHeader, []byte(a.Spec.IdempotencyKey))}
	if a.Spec.TraceParent != "" {
		headers = append(headers, kafka.Header(traceHeader, []byte(a.Spec.TraceParent)))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		headers = append(headers, kafka.Header(name, []byte(p.Headers[name])))
	}
	return kafka.Keyed(p.Topic, []byte(key), p.value(), headers...)
}

func (p *produceParams) value() []byte {
	var text *string
	if len(p.Value) == 0 {
		return nil
	}
	if err := json.Unmarshal(p.Value, &text); err != nil {
		return p.Value
	}
	if text == nil {
		return nil
	}
	return []byte(*text)
}
