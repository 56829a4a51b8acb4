package badinput

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/shared/events"
)

const partitions = 2

var secret = events.Key("badinput's secret")

// rig is a deployment in the hands of a test or subtest.
type rig struct {
	*testing.T
	*deployment
}

// of is the rig in the hands of a subtest.
func (r *rig) of(t *testing.T) *rig { return &rig{t, r.deployment} }

// deployment is a planner, a worker and a gateway over an embedded broker, with
// what goes in and out of them.
type deployment struct {
	ctx      context.Context
	cluster  *brokertest.Cluster
	names    topics.Names
	producer *kgo.Client
	client   *client.Client
	http     *httptest.Server
	n        int

	mu      sync.Mutex
	changed *sync.Cond
	replies map[string][]events.Reply
	letters []letter
	tokens  map[string]string // of attempts that wait, by workflow
}

// letter is a record of the dlq.
type letter struct {
	Reason    string `json:"reason"`
	Path      string `json:"path"`
	Workflow  string `json:"workflow"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Key       []byte `json:"key"`
	Value     []byte `json:"value"`
}

// start runs a deployment until the test ends; change alters its planner.
func start(t *testing.T, change ...func(*plannerd.Config)) *rig {
	t.Helper()
	r := &rig{t, &deployment{
		cluster: brokertest.Start(t, topics.Options{Partitions: partitions}),
		replies: map[string][]events.Reply{}, tokens: map[string]string{},
	}}
	r.changed = sync.NewCond(&r.mu)
	var cancel context.CancelFunc
	r.ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	var err error
	r.names, err = r.cluster.Config.Names()
	r.must(err)
	r.producer, err = kafka.NewEffectsProducer(r.cluster.Config)
	r.must(err)
	t.Cleanup(r.producer.Close)
	r.tail(r.names.Replies(), r.reply)
	r.tail(r.names.DLQ(), r.letter)
	r.planner(change)
	r.worker()
	r.gateway()
	r.client, err = kafkaclient.New(r.ctx, kafkaclient.Options{Brokers: r.cluster.Config.Brokers, Prefix: r.cluster.Config.Prefix, Dialer: r.cluster.Config.Dialer})
	r.must(err)
	t.Cleanup(func() { r.must(r.client.Close()) })
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// service runs something until the test ends.
func (r *rig) service(what string, run func(ctx context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	r.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			r.Errorf("the %s ended with: %v", what, err)
		}
	})
}

func (r *rig) planner(change []func(*plannerd.Config)) {
	r.Helper()
	cfg := plannerd.Config{Kafka: r.cluster.Config, DataDir: "p", FS: vfs.NewMem(), Instance: "p", TokenKey: secret}
	for _, f := range change {
		f(&cfg)
	}
	p, err := plannerd.New(cfg)
	r.must(err)
	r.service("planner", p.Run)
	select {
	case <-p.Ready():
	case <-r.ctx.Done():
		r.Fatalf("the planner is not ready: %+v", p.Partitions())
	}
}

// worker serves the tasks of the tests.
func (r *rig) worker() {
	r.Helper()
	joined := make(chan struct{})
	tasks := map[string]worker.HandlerFunc{
		"echo": func(_ context.Context, a *worker.Attempt) (json.RawMessage, error) { return a.Spec.Input, nil },
		"huge": func(context.Context, *worker.Attempt) (json.RawMessage, error) { return text(3 << 20), nil },
		"half": func(context.Context, *worker.Attempt) (json.RawMessage, error) { return text(1500 << 10), nil },
		"wait": r.wait,
	}
	t, err := worker.New(worker.Config{
		Kafka: r.cluster.Config, Name: "t", Channel: "test", DrainLimit: time.Millisecond, Ready: func() { close(joined) },
		Pools: []worker.Pool{{Queues: []string{topics.DefaultQueue}, Slots: 8, Lookup: func(task string) (worker.Handler, bool) {
			h, ok := tasks[task]
			return h, ok
		}}},
	})
	r.must(err)
	r.service("worker", t.Run)
	<-joined
}

// text is a JSON text of so many bytes.
func text(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n) + `"`) }

// wait tells its token and waits until it is cancelled.
func (r *rig) wait(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
	r.mu.Lock()
	r.tokens[a.Workflow] = a.Token()
	r.changed.Broadcast()
	r.mu.Unlock()
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (r *rig) gateway() {
	r.Helper()
	gw, err := gateway.Open(r.ctx, gateway.Config{Kafka: r.cluster.Config})
	r.must(err)
	r.http = httptest.NewServer(gw.Handler())
	r.Cleanup(func() {
		r.must(gw.Close())
		r.http.Close()
	})
}

func (r *rig) tail(topic string, visit func(*kgo.Record)) {
	r.Helper()
	cl, err := kafka.NewTail(r.cluster.Config, kafka.FromStart, topic)
	r.must(err)
	r.service("tail of "+topic, func(ctx context.Context) error {
		defer cl.Close()
		for ctx.Err() == nil {
			cl.PollFetches(ctx).EachRecord(visit)
		}
		return nil
	})
}

func (r *rig) reply(k *kgo.Record) {
	var reply events.Reply
	if err := json.Unmarshal(k.Value, &reply); err != nil {
		r.Errorf("a reply cannot be read: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replies[reply.ID] = append(r.replies[reply.ID], reply)
	r.changed.Broadcast()
}

func (r *rig) letter(k *kgo.Record) {
	var l letter
	if err := json.Unmarshal(k.Value, &l); err != nil {
		r.Errorf("a dead letter cannot be read: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.letters = append(r.letters, l)
	r.changed.Broadcast()
}

// await waits until found says so; it is called with the rig locked.
func (r *rig) await(what string, found func() bool) {
	r.Helper()
	stop := context.AfterFunc(r.ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changed.Broadcast()
	})
	defer stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !found() {
		if r.ctx.Err() != nil {
			r.Fatalf("%s did not come; dead letters: %+v", what, r.letters)
		}
		r.changed.Wait()
	}
}

// idOn is a new workflow id that belongs to a partition.
func (r *rig) idOn(partition int32) string {
	for {
		r.n++
		id := fmt.Sprintf("w%d", r.n)
		if kafka.PartitionFor([]byte(id), partitions) == partition {
			return id
		}
	}
}
