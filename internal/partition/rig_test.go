package partition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/faults"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/wire"
)

// inBubble runs a test over an embedded broker in virtual time.
func inBubble(t *testing.T, f func(r *rig)) {
	t.Helper()
	inBubbleOf(t, 4, f)
}

// inBubbleOf does the same with so many partitions.
func inBubbleOf(t *testing.T, partitions int32, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(newRig(t, brokertest.StartInBubble(t, topics.Options{Partitions: partitions})))
	})
}

// rig is a broker with everything around one or more hosts.
type rig struct {
	t        testing.TB
	cluster  *brokertest.Cluster
	names    topics.Names
	n        int32
	fs       vfs.FS
	settings loop.Settings
	clock    loop.Clock            // of the processes that start; nil: the broker's
	over     func(Cluster) Cluster // what the processes that start see of the cluster; nil: what is there
	member   string                // of the group, in whose name positions are committed; empty: none are
	counter  *looptest.Counter
	machine  func(*site) machine.Machine // of the processes that start; nil: the counter
	producer *kgo.Client
	logger   *slog.Logger
	seq      int

	mu      sync.Mutex
	replies map[string][]events.Reply
	seen    *sync.Cond
}

func newRig(t testing.TB, c *brokertest.Cluster) *rig {
	t.Helper()
	r := &rig{t: t, cluster: c, n: c.Topics.Partitions(), fs: vfs.NewMem(), counter: &looptest.Counter{Key: looptest.Secret}, replies: map[string][]events.Reply{}}
	r.seen = sync.NewCond(&r.mu)
	r.logger = slog.New(slog.DiscardHandler)
	if os.Getenv("HEDDLE_TEST_LOG") != "" {
		r.logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	names, err := c.Config.Names()
	r.must(err)
	r.names = names
	r.producer, err = kafka.NewEffectsProducer(c.Config)
	r.must(err)
	producer := r.producer
	t.Cleanup(func() { c.Close(producer) })
	r.tail(names.Replies(), func(k *kgo.Record) {
		var reply events.Reply
		if err := json.Unmarshal(k.Value, &reply); err != nil {
			t.Errorf("a reply cannot be read: %v", err)
		}
		r.mu.Lock()
		r.replies[reply.ID] = append(r.replies[reply.ID], reply)
		r.seen.Broadcast()
		r.mu.Unlock()
	})
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// letters gives what comes to the dead-letter topic, from its start on.
func (r *rig) letters() <-chan events.Letter {
	r.t.Helper()
	all := make(chan events.Letter, 16)
	r.tail(r.names.DLQ(), func(k *kgo.Record) {
		var l events.Letter
		if err := json.Unmarshal(k.Value, &l); err != nil {
			r.t.Errorf("a letter cannot be read: %v", err)
		}
		all <- l
	})
	return all
}

// tail visits every record of a topic from its start until the test ends.
func (r *rig) tail(topic string, visit func(*kgo.Record)) {
	r.t.Helper()
	cl, err := kafka.NewTail(r.cluster.Config, kafka.FromStart, topic)
	r.must(err)
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			cl.PollFetches(ctx).EachRecord(visit)
		}
	})
	r.t.Cleanup(func() {
		stop()
		wg.Wait()
		r.cluster.Close(cl)
	})
}

// site is one process: a host with the owners of some partitions.
type site struct {
	*Host
	r      *rig
	owners []*Owner
	dead   atomic.Bool
	mu     sync.Mutex
	conns  []net.Conn
	ended  bool
	name   string // of the instance
}

// start starts a process that claims partitions.
func (r *rig) start(instance string, partitions ...int32) *site {
	r.t.Helper()
	r.seq++
	s := &site{r: r, name: instance}
	config := r.cluster.Config
	config.Limits = &kafka.Limits{}
	dial := config.Dialer
	config.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if s.dead.Load() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("this process is dead")}
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conns = append(s.conns, conn)
		return conn, nil
	}
	var seen Cluster = kafkaCluster{config}
	if r.over != nil {
		seen = r.over(seen)
	}
	var err error
	s.Host, err = NewHost(context.Background(), HostConfig{
		Kafka: config, Cluster: seen, Partitions: r.n,
		Instance: instance, Owner: fmt.Sprintf("%s/%d", instance, r.seq),
		Settings: r.settings, Clock: r.clock,
		Machine: func(int32) machine.Machine { return r.hosted(s) },
		Store: func(p int32) store.Options {
			return store.Options{Dir: fmt.Sprintf("%s-%d", instance, p), FS: r.fs}
		},
		Member: func() (string, int32) { return r.member, -1 },
		Logger: r.logger, Killed: faults.KilledBy(s.dead.Load),
	})
	r.must(err)
	for _, p := range partitions {
		s.owners = append(s.owners, s.Own(context.Background(), p))
	}
	r.t.Cleanup(func() {
		if !s.ended {
			s.kill()
		}
	})
	return s
}

// hosted is the machine of a process that starts, or, without one, of a fold.
func (r *rig) hosted(s *site) machine.Machine {
	if r.machine != nil {
		return r.machine(s)
	}
	return r.counter
}

// kill ends a process without any goodbye: connections break, nothing is
// flushed.
func (s *site) kill() {
	s.dead.Store(true)
	s.mu.Lock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.loseAll()
}

// leave ends a process gracefully.
func (s *site) leave() {
	var wg sync.WaitGroup
	for _, o := range s.owners {
		wg.Go(func() { o.Revoke(context.Background()) })
	}
	wg.Wait()
	s.ended = true
	s.Close()
}

// loseAll ends a process that the group has dropped.
func (s *site) loseAll() {
	for _, o := range s.owners {
		o.Lose()
	}
	s.ended = true
	s.Close()
}

// await waits until the first owner is in a state.
func (s *site) await(state string) Status {
	s.r.t.Helper()
	for range 6000 {
		if at := s.owners[0].Status(); at.State == state {
			return at
		}
		<-time.After(10 * time.Millisecond)
	}
	s.r.t.Fatalf("the partition is %+v, want it %s", s.owners[0].Status(), state)
	return Status{}
}

func (r *rig) partitionOf(workflow string) int32 {
	return kafka.PartitionFor([]byte(workflow), r.n)
}

// send produces a command and returns the id that its reply will have.
func (r *rig) send(workflow, name, body string) string {
	r.t.Helper()
	r.seq++
	id := fmt.Sprintf("c%d", r.seq)
	r.sendAs(id, r.partitionOf(workflow), workflow, name, body)
	return id
}

func (r *rig) sendAs(id string, p int32, workflow, name, body string) {
	r.t.Helper()
	rec := kafka.Placed(r.names.Commands(), p, []byte(workflow), []byte(body),
		kafka.Header(events.HeaderID, []byte(id)), kafka.Header(events.HeaderSource, []byte("test")),
		kafka.Header(events.HeaderType, []byte(events.CommandType(name))), kafka.Header(events.HeaderReplyTo, []byte("tester")))
	r.must(r.producer.ProduceSync(context.Background(), rec).FirstErr())
}

// reply waits for the nth reply to a question.
func (r *rig) reply(id string, n int) events.Reply {
	r.t.Helper()
	expired := false
	timer := time.AfterFunc(30*time.Second, func() {
		r.mu.Lock()
		expired = true
		r.seen.Broadcast()
		r.mu.Unlock()
	})
	defer timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.replies[id]) < n && !expired {
		r.seen.Wait()
	}
	if expired {
		r.t.Fatalf("no reply %d to %s within 30 s", n, id)
	}
	return r.replies[id][n-1]
}

// do sends a command and waits for its answer.
func (r *rig) do(workflow, name, body string) events.Reply {
	r.t.Helper()
	return r.reply(r.send(workflow, name, body), 1)
}

// query asks and waits for the answer.
func (r *rig) query(workflow string) (sum, open int64) {
	r.t.Helper()
	r.seq++
	id := fmt.Sprintf("q%d", r.seq)
	q := &events.Query{Kind: "workflow", Workflow: workflow, ReplyTo: events.ReplyTo{Address: "tester", ID: id}}
	rec := kafka.Keyed(r.names.Queries(), []byte(workflow), wire.Marshal(q))
	r.must(r.producer.ProduceSync(context.Background(), rec).FirstErr())
	var body struct{ Sum, Open int64 }
	reply := r.reply(id, 1)
	if reply.Refusal != nil {
		r.t.Fatalf("query of %s: %+v", workflow, reply.Refusal)
	}
	r.must(json.Unmarshal(reply.Body, &body))
	return body.Sum, body.Open
}

// adder is a worker that adds what it gets, until the test ends.
func (r *rig) adder() {
	r.tail(r.names.Tasks("default"), func(k *kgo.Record) {
		var task events.Task
		if err := wire.Unmarshal(k.Value, &task); err != nil {
			r.t.Errorf("a task cannot be read: %v", err)
			return
		}
		r.outcome(string(k.Key), &task)
	})
}

func (r *rig) outcome(workflow string, task *events.Task) {
	out := events.EncodeInbox(&events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeCompleted, Result: task.Input})
	r.producer.Produce(context.Background(), kafka.Keyed(r.names.Inbox(), []byte(workflow), out), nil)
}

// settled waits until a counter has no open additions, and returns its sum.
func (r *rig) settled(workflow string) int64 {
	r.t.Helper()
	for range 1000 {
		sum, open := r.query(workflow)
		if open == 0 {
			return sum
		}
		<-time.After(10 * time.Millisecond) // virtual, in a bubble
	}
	r.t.Fatalf("%s does not settle", workflow)
	return 0
}

// tamper makes a store say that it is of another cluster.
func (r *rig) tamper(dir string) {
	r.t.Helper()
	s, err := store.Open(store.Options{Dir: dir, FS: r.fs})
	r.must(err)
	m := s.Metadata()
	m.Cluster = "another"
	r.must(s.SetMetadata(m))
	r.must(s.Close())
}

// forgetIn wipes the store of an instance's partition.
func (r *rig) forgetIn(instance string, p int32) {
	r.t.Helper()
	r.forget(fmt.Sprintf("%s-%d", instance, p))
}

// forget wipes a store, as a lost disk does.
func (r *rig) forget(dir string) {
	r.t.Helper()
	r.must(store.Discard(store.Options{Dir: dir, FS: r.fs}))
}
