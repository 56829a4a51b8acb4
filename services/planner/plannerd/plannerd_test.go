package plannerd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// world is a broker with a client that waits for replies, and a worker.
type world struct {
	t       *testing.T
	cluster *brokertest.Cluster
	names   topics.Names
	client  *kgo.Client
	replies chan events.Reply
	fs      vfs.FS
	seeded  func(*plannerd.Config) // a bug in the planners that start; nil: none
	held    chan *kgo.Record       // tasks wait here until the test completes them; nil: they are completed at once
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := brokertest.StartInBubble(t, topics.Options{})
	w := &world{t: t, cluster: c, replies: make(chan events.Reply, 1000), fs: vfs.NewMem()}
	var err error
	if w.names, err = c.Config.Names(); err != nil {
		t.Fatal(err)
	}
	if w.client, err = kafka.NewEffectsProducer(c.Config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(w.client) })
	w.tail(w.names.Replies(), func(k *kgo.Record) {
		var r events.Reply
		if err := json.Unmarshal(k.Value, &r); err != nil {
			t.Error(err)
		}
		w.replies <- r
	})
	w.tail(w.names.Tasks("default"), w.run)
	return w
}

func (w *world) tail(topic string, visit func(*kgo.Record)) {
	w.t.Helper()
	cl, err := kafka.NewTail(w.cluster.Config, kafka.FromStart, topic)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			cl.PollFetches(ctx).EachRecord(visit)
		}
	}()
	w.t.Cleanup(func() { stop(); <-done; w.cluster.Close(cl) })
}

// run completes every task with its input, unless they wait for the test.
func (w *world) run(k *kgo.Record) {
	if w.held != nil {
		w.held <- k
		return
	}
	w.complete(k)
}

func (w *world) complete(k *kgo.Record) {
	var task events.Task
	if err := wire.Unmarshal(k.Value, &task); err != nil {
		w.t.Error(err)
	}
	out := events.EncodeInbox(&events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeCompleted, Result: task.Input})
	w.client.Produce(context.Background(), kafka.Keyed(w.names.Inbox(), k.Key, out), nil)
}

// planner starts a planner that is stopped in order, and waits until it is ready.
func (w *world) planner(instance string) (*plannerd.Planner, func() error) {
	w.t.Helper()
	p, _, stop := w.mortal(instance)
	return p, stop
}

// mortal starts a planner that may be killed, and waits until it is ready. Both
// ways it has ended when it is stopped or killed.
func (w *world) mortal(instance string) (_ *plannerd.Planner, kill, stop func() error) {
	w.t.Helper()
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("HEDDLE_TEST_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	cfg := plannerd.Config{
		Kafka: w.cluster.Config, DataDir: instance, FS: w.fs, Instance: instance,
		TokenKey: events.Key("0123456789abcdef"), Logger: logger,
		Partition: loop.Settings{Lease: 2 * time.Second, NeverRunsTwice: true},
	}
	if w.seeded != nil {
		w.seeded(&cfg)
	}
	line := through(&cfg)
	p, err := plannerd.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, tell := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	select {
	case <-p.Ready():
	case err := <-ended:
		w.t.Fatalf("the planner ended: %v", err)
	case <-time.After(30 * time.Second):
		w.t.Fatalf("the planner is not ready: %+v", p.Partitions())
	}
	stop = func() error { tell(); return <-ended }
	return p, func() error { line.cut(); return stop() }, stop
}

func (w *world) command(workflow, name, body string) {
	w.t.Helper()
	w.commandWaiting(workflow, name, body, events.WaitDrained)
}

func (w *world) commandWaiting(workflow, name, body, wait string) {
	w.t.Helper()
	rec := kafka.Keyed(w.names.Commands(), []byte(workflow), []byte(body),
		kafka.Header(events.HeaderID, []byte(name+workflow)), kafka.Header(events.HeaderType, []byte(events.CommandType(name))),
		kafka.Header(events.HeaderReplyTo, []byte("me")), kafka.Header(events.HeaderReplyWait, []byte(wait)))
	if err := w.client.ProduceSync(context.Background(), rec).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) reply(kind string) events.Reply {
	w.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case r := <-w.replies:
			if r.Kind == kind {
				return r
			}
		case <-deadline:
			w.t.Fatalf("no reply %s", kind)
		}
	}
}

const echo = `{"definition":{"name":"echo","components":{"a":{"step":"test.echo","queue":"default"},"b":{"step":"test.echo","after":"a"}}},"input":{"x":1},"options":{"close":"on_idle"}}`

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newWorld(t)) })
}

func TestAWorkflowRunsThroughThePlanner(t *testing.T) {
	inWorld(t, func(w *world) {
		_, stop := w.planner("a")
		w.command("w1", "start", echo)
		if r := w.reply(events.ReplyDecided); r.Result != events.ResultDone {
			t.Errorf("start: %+v %+v", r, r.Refusal)
		}
		w.reply(events.ReplyDrained)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestWhoWaitsForTheEndAloneGetsOneReply(t *testing.T) {
	inWorld(t, func(w *world) {
		_, stop := w.planner("a")
		w.commandWaiting("w1", "start", echo, events.WaitEnd)
		if r := <-w.replies; r.Kind != events.ReplyDrained {
			t.Errorf("told %+v", r)
		}
		w.commandWaiting("w1", "start", echo, events.WaitEnd) // its work is long done
		if r := <-w.replies; r.Kind != events.ReplyDecided || r.Result != events.ResultDone {
			t.Errorf("the repetition got %+v", r)
		}
		w.commandWaiting("w1", "input", `{"input":1}`, events.WaitEnd)
		if r := <-w.replies; r.Kind != events.ReplyDecided || r.Refusal == nil {
			t.Errorf("an input to a closed workflow got %+v", r)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAKilledPlannerIsSucceeded(t *testing.T) {
	inWorld(t, func(w *world) {
		_, kill, _ := w.mortal("a")
		w.command("w1", "start", echo)
		w.reply(events.ReplyDrained)
		if err := kill(); err != nil {
			t.Error(err)
		}
		w.command("w2", "start", echo)
		_, stop := w.planner("a")
		w.reply(events.ReplyDrained)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestPartitionsMoveBetweenPlanners(t *testing.T) {
	inWorld(t, func(w *world) {
		a, stopA := w.planner("a")
		w.command("w1", "start", echo)
		w.reply(events.ReplyDrained)
		b, stopB := w.planner("b")
		w.until(func() bool { return owned(a) == 2 && owned(b) == 2 })
		for i := range 8 {
			w.command(fmt.Sprint("both", i), "start", echo)
			w.reply(events.ReplyDrained)
		}
		if err := stopA(); err != nil {
			t.Error(err)
		}
		w.until(func() bool { return owned(b) == 4 })
		for i := range 8 {
			w.command(fmt.Sprint("alone", i), "start", echo)
			w.reply(events.ReplyDrained)
		}
		if err := stopB(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnotherPlannerTakesOverFromAKilledOne(t *testing.T) {
	inWorld(t, func(w *world) {
		a, killA, _ := w.mortal("a")
		b, stopB := w.planner("b")
		w.until(func() bool { return owned(a) == 2 && owned(b) == 2 })
		began := time.Now()
		if err := killA(); err != nil {
			t.Error(err)
		}
		for i := range 8 {
			w.command(fmt.Sprint("after", i), "start", echo)
			w.reply(events.ReplyDrained)
		}
		t.Logf("all partitions were served again after %s", time.Since(began))
		if owned(b) != 4 {
			t.Errorf("the survivor has %+v", b.Partitions())
		}
		if err := stopB(); err != nil {
			t.Error(err)
		}
	})
}

func owned(p *plannerd.Planner) int {
	n := 0
	for _, s := range p.Partitions() {
		if s.State == partition.Owning {
			n++
		}
	}
	return n
}

func (w *world) until(ok func() bool) {
	w.t.Helper()
	for range 6000 {
		if ok() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	w.t.Fatal("it does not come to pass within a minute")
}
