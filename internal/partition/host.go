package partition

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/faults"
	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/internal/partition/feed"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// recoveriesAtOnce bounds the partitions of a process that read their changelog
// and journal at the same time. One to which nothing comes does not count (turn.go).
const recoveriesAtOnce = 8

// retryPause is how long a failed tenure, question or checkpoint waits.
const retryPause = 250 * time.Millisecond

// leaseTries is how many brokers that hang one after the other an owner may meet
// before its lease is used up: one, for an answer, gets such a part of it.
const leaseTries = 5

// HostConfig is what the partitions of one process share.
type HostConfig struct {
	Kafka      kafka.Config
	Cluster    Cluster // nil: the one that Kafka names
	Partitions int32   // of every topic keyed by workflow ID
	Instance   string  // name of this process among planners
	Owner      string  // unlike that of any other process start; begins with Instance + "/"
	Settings   loop.Settings
	Machine    func(partition int32) machine.Machine
	Store      func(partition int32) store.Options  // where its store is
	Member     func() (id string, generation int32) // of the planner group, for committed positions
	Clock      loop.Clock                           // nil: the system's
	LeaseID    func() string                        // a new one each time; nil: random
	Killed     faults.Killed                        // by a test: nothing is flushed
	Flaws      loop.Flaws
	Durability *runtime.Durability
	Logger     *slog.Logger
	Stats      *loop.Stats
	Observer   loop.Observer // of what records say; nil: nobody
}

// Host owns the clients that the partitions of a process share: one for
// journals, two for effects, one that reads the inputs, one for questions. A
// blocked effect blocks no journal.
type Host struct {
	HostConfig
	names   topics.Names
	logger  *slog.Logger
	effects Producer
	status  Producer // of status effects
	source  journal.Source
	adm     Admin
	router  *feed.Router
	ends    *endLookup
	queues  *queueCounts
	clock   *clockWatch
	latest  *statuses
	hot     *store.Budget
	began   time.Time
	pace    *pace
	stores  stores

	recovering chan struct{} // bounds the recoveries at a time
	learning   chan struct{} // one limit at a time

	mu      sync.Mutex
	journal Producer
	old     []Producer           // stopped by data loss
	learnt  map[string]time.Time // limits of topics, and when
	owners  map[*Owner]struct{}
	trial   *diskTrial // that is under way, or whose answer nobody has heard; nil: none

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// NewHost connects to the cluster. Close it after all its Owners have ended.
func NewHost(ctx context.Context, c HostConfig) (*Host, error) {
	c.Settings = c.Settings.Complete()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.LeaseID == nil {
		c.LeaseID = rand.Text
	}
	if c.Stats == nil {
		c.Stats = &loop.Stats{}
	}
	if c.Kafka.Limits == nil {
		c.Kafka.Limits = &kafka.Limits{}
	}
	if c.Cluster == nil {
		c.Kafka.Patience = c.Settings.Lease / leaseTries
		c.Cluster = kafkaCluster{c.Kafka}
	}
	names, err := c.Cluster.Names()
	if err != nil {
		return nil, err
	}
	if c.Settings.RecordBytes == 0 {
		c.Settings.RecordBytes = int(topics.Default().MaxBytes(names, names.Journal())) - loop.RecordOverhead
	}
	h := &Host{HostConfig: c, names: names, logger: c.Logger, began: time.Now(), recovering: make(chan struct{}, recoveriesAtOnce), owners: map[*Owner]struct{}{}, learnt: map[string]time.Time{}, learning: make(chan struct{}, 1)}
	if err := h.connect(); err != nil {
		h.closeClients()
		return nil, err
	}
	h.start(ctx)
	return h, nil
}

func (h *Host) connect() (err error) {
	if h.effects, err = h.Cluster.Effects(); err != nil {
		return err
	}
	if h.status, err = h.Cluster.Summaries(); err != nil {
		return err
	}
	if h.journal, err = h.Cluster.Journals(); err != nil {
		return err
	}
	if h.adm, err = h.Cluster.Admin(); err != nil {
		return err
	}
	if h.source, err = h.Cluster.Source(); err != nil {
		return err
	}
	logs, err := h.Cluster.Logs()
	if err != nil {
		return err
	}
	h.router = feed.NewRouter(logs, h.names, h.logger, h.Stats, h.Flaws.OldTopics.On())
	h.hot = store.NewBudget(int64(h.Settings.HotBytes))
	h.ends, h.queues, h.clock = newEndLookup(h), newQueueCounts(h), newClockWatch(h)
	h.latest, h.pace = newStatuses(&h.Settings), newPace(&h.Settings)
	return nil
}

func (h *Host) start(ctx context.Context) {
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.wg.Go(func() { defect.Keep(ctx, h.logger, h.Stats, h.router.Run, h.router.Interrupted) })
	for _, run := range []func(context.Context){h.ends.run, h.queues.run, h.clock.run} {
		h.wg.Go(func() { defect.Keep(ctx, h.logger, h.Stats, run, func(error) {}) }) // their questions are contained one by one
	}
}

// Close ends the shared goroutines and clients.
func (h *Host) Close() {
	h.stop()
	h.wg.Wait()
	h.closeClients()
}

func (h *Host) closeClients() {
	if h.source != nil {
		h.source.Close()
	}
	if h.adm != nil {
		h.adm.Close()
	}
	if h.router != nil {
		h.router.Close()
	}
	for _, cl := range append([]Producer{h.effects, h.status, h.journal}, h.old...) {
		if cl != nil {
			cl.Close()
		}
	}
}

// journalClient is the client for journals. One that data loss has stopped is
// replaced: it fails every append, of any partition, for ever.
func (h *Host) journalClient() Producer {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.journal
}

// Owners are those that have not ended, by partition.
func (h *Host) Owners() []*Owner {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Keys(h.owners), func(a, b *Owner) int { return cmp.Compare(a.p, b.p) })
}

// claims says, under the lock, whether there is an owner of a partition here.
func (h *Host) claims(p int32) bool {
	for o := range h.owners {
		if o.p == p {
			return true
		}
	}
	return false
}

func (h *Host) enter(o *Owner) {
	h.mu.Lock()
	h.owners[o] = struct{}{}
	h.mu.Unlock()
}

func (h *Host) exit(o *Owner) {
	h.mu.Lock()
	delete(h.owners, o)
	h.mu.Unlock()
}

// replaceJournal makes a new journal client if the failed one is still in use.
func (h *Host) replaceJournal(failed Producer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.journal != failed {
		return nil
	}
	cl, err := h.Cluster.Journals()
	if err != nil {
		return err
	}
	h.old = append(h.old, failed)
	h.journal = cl
	return nil
}

// fillEffect makes the Kafka record of an effect that is no task.
func (h *Host) fillEffect(o *loop.Outgoing) {
	o.Fill(h.topicOf(o), kafka.ByKey)
	if (o.Kind == machine.StatusEffect || o.Kind == machine.NoticeEffect) && len(o.Value) == 0 {
		o.Record.Value = nil // a tombstone
	}
	switch o.Kind {
	case machine.CancelEffect:
		o.Record.Headers = kafka.TaskFormat
	case machine.MessageEffect:
		o.Record.Headers = kafka.InboxFormat
	case machine.RunnerEffect:
		o.Record.Headers = kafka.RunnerFormat
	case machine.TaskEffect, machine.ReplyEffect, machine.StatusEffect, machine.DLQEffect, machine.ForwardEffect, machine.EmitEffect:
	case machine.NoticeEffect: // beside the summary of its workflow, and in its partition
		o.Record.Partition = kafka.PartitionFor(o.Record.Key, h.Partitions)
		o.Record.Key = append([]byte(events.NoticePrefix), o.Record.Key...)
	}
	for _, header := range o.Headers {
		o.Record.Headers = append(o.Record.Headers, kafka.Header(header.Key, header.Value))
	}
}

// topicOf is where an effect goes.
func (h *Host) topicOf(o *loop.Outgoing) string {
	switch o.Kind {
	case machine.CancelEffect:
		return h.names.TaskControl()
	case machine.ReplyEffect:
		return h.names.Replies()
	case machine.StatusEffect, machine.NoticeEffect:
		return h.names.Status()
	case machine.DLQEffect:
		return h.names.DLQ()
	case machine.MessageEffect:
		return h.names.Inbox()
	case machine.ForwardEffect:
		if o.Log == events.FromInbox {
			return h.names.Inbox()
		}
		return h.names.Commands()
	case machine.TaskEffect:
		return h.names.Tasks(o.Queue)
	case machine.EmitEffect:
		return o.Topic
	case machine.RunnerEffect:
		return h.names.RunnerCommands()
	}
	panic(errors.New("partition: " + loop.KindName(o.Kind) + " has no topic of its own"))
}
