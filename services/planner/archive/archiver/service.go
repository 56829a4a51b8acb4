package archiver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/definitions"
	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
)

// Config of an archiver.
type Config struct {
	Kafka    kafka.Config
	Store    store.Store // the caller closes it
	Settings archive.Settings
	Name     string                // of this process, for people; empty: the host's
	Logger   *slog.Logger          // nil: silent
	Registry prometheus.Registerer // of metrics; nil: none

	pause  time.Duration           // between tries, at first; 0: firstPause
	before func(step string) error // of a test: called before each step that leaves something; an error ends the tenure
}

// leaveWait bounds the departure from the group.
const leaveWait = 5 * time.Second

// Archiver is a running archiver.
type Archiver struct {
	cfg     Config
	logger  *slog.Logger
	names   topics.Names
	topic   string // id of the journal's
	admin   *kgo.Client
	reader  *journal.Reader
	book    *definitions.Book
	ask     *request.Client
	out     *kgo.Client
	member  *kgo.Client
	store   store.Store
	metrics *metrics
	known   *known
	atOnce  int

	deployment Deployment
	parts      *assigned
}

// Run archives until ctx ends. ready is called once it is a member of the group.
func Run(ctx context.Context, cfg Config, ready func()) error {
	a := &Archiver{cfg: cfg, logger: cfg.Logger, known: newKnown(), atOnce: atOnce}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	if a.cfg.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("asking for the host name: %w", err)
		}
		a.cfg.Name = host
	}
	defer a.close()
	if err := a.open(ctx); err != nil {
		return fmt.Errorf("archiver: %w", err)
	}
	ready()
	a.poll(ctx)
	return nil
}

func (a *Archiver) open(ctx context.Context) (err error) {
	if a.names, err = a.cfg.Kafka.Names(); err != nil {
		return err
	}
	if a.admin, err = kafka.NewAdmin(a.cfg.Kafka); err != nil {
		return err
	}
	set, err := topics.Default().Discover(ctx, a.admin, a.names.Prefix())
	if err != nil {
		return err
	}
	if _, err = set.CheckToRun(ctx, a.admin); err != nil {
		return err
	}
	if a.topic, err = topicID(ctx, a.admin, a.names.Journal()); err != nil {
		return err
	}
	if a.reader, err = journal.NewReader(a.cfg.Kafka); err != nil {
		return err
	}
	if a.book, err = definitions.Open(ctx, a.cfg.Kafka); err != nil {
		return err
	}
	if a.ask, err = request.Open(ctx, request.Options{Kafka: a.cfg.Kafka, Source: "archiver", Logger: a.logger}); err != nil {
		return err
	}
	if a.out, err = kafka.NewEffectsProducer(a.cfg.Kafka); err != nil {
		return err
	}
	if a.metrics, err = newMetrics(a.cfg.Registry); err != nil {
		return err
	}
	a.store = &metered{a.cfg.Store, a.metrics}
	return a.join(ctx)
}

func (a *Archiver) join(ctx context.Context) error {
	features, err := kafka.LoadFeatures(ctx, a.admin)
	if err != nil {
		return err
	}
	link := &cluster{Client: a.ask, Book: a.book, journal: a.names.Journal(), out: a.out}
	a.deployment = link
	a.parts = &assigned{a: a, running: map[int32]*running{}}
	a.parts.ctx, a.parts.stop = context.WithCancel(context.WithoutCancel(ctx))
	link.ready = make(chan struct{})
	a.member, err = kafka.NewArchiverMember(a.cfg.Kafka, features.ServerSideGroups, a.parts)
	link.member = a.member
	close(link.ready)
	return err
}

// poll keeps the membership alive until ctx ends. It consumes nothing: partitions have readers of their own.
func (a *Archiver) poll(ctx context.Context) {
	for ctx.Err() == nil {
		for _, f := range a.member.PollFetches(ctx).Errors() {
			if ctx.Err() == nil && !errors.Is(f.Err, context.Canceled) {
				a.logger.Warn("the archivers' group", "error", f.Err)
			}
		}
	}
}

// close ends the partitions, leaves the group and closes the clients.
func (a *Archiver) close() {
	if a.parts != nil {
		a.parts.end()
	}
	if a.member != nil {
		ctx, stop := context.WithTimeout(context.Background(), leaveWait)
		if err := a.member.LeaveGroupContext(ctx); err != nil {
			a.logger.Warn("leaving the archivers' group; it will miss this member", "error", err)
		}
		stop()
		a.member.Close()
	}
	if a.ask != nil {
		if err := a.ask.Close(); err != nil {
			a.logger.Warn("closing the archiver", "error", err)
		}
	}
	if a.book != nil {
		a.book.Close()
	}
	if a.reader != nil {
		a.reader.Close()
	}
	for _, cl := range []*kgo.Client{a.out, a.admin} {
		if cl != nil {
			cl.Close()
		}
	}
	if a.metrics != nil {
		a.metrics.unregister(a.cfg.Registry)
	}
}

// topicID is the id of a topic, which tells it from one that is made anew under its name.
func topicID(ctx context.Context, cl *kgo.Client, topic string) (string, error) {
	m, err := kadm.NewClient(cl).Metadata(ctx, topic)
	if err != nil {
		return "", fmt.Errorf("asking for the id of %s: %w", topic, err)
	}
	t, ok := m.Topics[topic]
	if !ok || t.Err != nil {
		return "", fmt.Errorf("asking for the id of %s: %w", topic, errors.Join(t.Err, errNoTopic))
	}
	return fmt.Sprintf("%x", t.ID[:]), nil
}

var errNoTopic = errors.New("the topic is not known")

// journalName is the journal as names of runs have it.
func (a *Archiver) journalName() string { return a.topic[:8] }
