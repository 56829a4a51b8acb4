package plannerd

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/heddle-run/heddle/internal/definitions"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/machine"
)

// readyWait is how long a planner that the group gives nothing waits before it
// calls itself ready.
const readyWait = 5 * time.Second

// Planner is one planner process. Make it with New, run it once.
type Planner struct {
	cfg   Config
	stats loop.Stats
	ready chan struct{}

	set    *topics.Set
	book   *definitions.Book
	shared *store.Shared
	host   *partition.Host
	claims *claims
	seen   *observer
	member *membership
	attend *partition.Attendance
}

// New checks the settings.
func New(cfg Config) (*Planner, error) {
	if err := cfg.defaults(); err != nil {
		return nil, err
	}
	s := &Planner{cfg: cfg, ready: make(chan struct{})}
	s.claims = newClaims(s.cfg.Logger)
	s.seen = newObserver(s.cfg.Logger, s.cfg.Tracer)
	s.member = &membership{s: s}
	s.attend = &partition.Attendance{Group: s.member}
	return s, nil
}

// Run runs a planner until ctx ends; then it gives its partitions up in order.
func Run(ctx context.Context, cfg Config) error {
	s, err := New(cfg)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// Run runs the planner until ctx ends, and gives its partitions up in order.
func (s *Planner) Run(ctx context.Context) error {
	defer s.seen.spans.begin()()
	defer s.close()
	if err := s.open(ctx); err != nil {
		return unlessTold(ctx, err)
	}
	unregister, err := s.register()
	if err != nil {
		return err
	}
	defer unregister()
	s.claims.begin(ctx, s.host)
	s.attend.Host = s.host
	go s.awaitReady(ctx)
	if err := s.attend.Run(ctx); err != nil {
		return unlessTold(ctx, err)
	}
	if s.cfg.Killed.Now() {
		s.claims.loseAll()
		return nil
	}
	s.claims.revokeAll(context.WithoutCancel(ctx))
	return nil
}

// unlessTold is why a planner did not come up; to be told to stop meanwhile is
// no failure.
func unlessTold(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Ready is closed when the planner owns what the group has given it first.
func (s *Planner) Ready() <-chan struct{} { return s.ready }

// Partitions are what this planner owns or claims, by number.
func (s *Planner) Partitions() []partition.Status { return s.claims.statuses() }

// Unfit is why the planner cannot serve, for a reason of its own; nil if there is
// none.
func (s *Planner) Unfit() error {
	if unfit := s.attend.Unfit(); unfit != nil {
		return unfit
	}
	return nil
}

// open connects, reads the definitions whole and prepares the partitions.
func (s *Planner) open(ctx context.Context) error {
	admin, err := kafka.NewAdmin(s.cfg.Kafka)
	if err != nil {
		return err
	}
	defer admin.Close()
	if s.set, err = topics.Default().Discover(ctx, admin, s.cfg.Kafka.Prefix); err != nil {
		return err
	}
	if err := checkWindow(ctx, admin, s.set, s.cfg.Partition.Complete().Window, s.cfg.Logger); err != nil {
		return err
	}
	if err := warnOfRetention(ctx, admin, s.set, s.cfg.Logger); err != nil {
		return err
	}
	if s.cfg.Durability == nil {
		if s.cfg.Durability, err = durability(ctx, admin, s.set, s.cfg.Logger); err != nil {
			return err
		}
	}
	if s.book, err = definitions.Open(ctx, s.cfg.Kafka); err != nil {
		return err
	}
	s.shared = store.NewShared(s.cfg.CacheBytes)
	s.host, err = partition.NewHost(ctx, partition.HostConfig{
		Kafka: s.cfg.Kafka, Partitions: s.set.Partitions(),
		Instance: s.cfg.Instance, Owner: s.cfg.Instance + "/" + rand.Text()[:10],
		Settings: s.cfg.Partition, Clock: s.cfg.Clock, Stats: &s.stats, Observer: s.seen, Logger: s.cfg.Logger, Durability: s.cfg.Durability,
		Machine: func(p int32) machine.Machine { return s.cfg.Machine(p, s.lookup().canonical) },
		Store: func(p int32) store.Options {
			return store.Options{Dir: s.cfg.dir(p), FS: s.cfg.FS, Shared: s.shared, Logger: s.cfg.Logger}
		},
		Member: s.claims.metadata,
		Killed: s.cfg.Killed,
	})
	return err
}

// awaitReady tells when every partition of the first assignment is owned.
func (s *Planner) awaitReady(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var joined time.Time
	for joined.IsZero() || !s.claims.settled(time.Since(joined) > readyWait) {
		if joined.IsZero() && s.attend.Member() {
			joined = time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	close(s.ready)
	if s.cfg.Ready != nil {
		s.cfg.Ready()
	}
}

func (s *Planner) close() {
	s.member.close()
	if s.host != nil && s.allEnded() {
		s.host.Close()
		s.shared.Close()
	}
	if s.book != nil {
		s.book.Close()
	}
}

// lastWait bounds the wait for owners at the end of the process.
const lastWait = 10 * time.Second

// allEnded waits for the owners. One whose disk hangs never ends, and what it uses
// stays open until the process is gone.
func (s *Planner) allEnded() bool {
	patience := time.After(lastWait)
	for _, o := range s.host.Owners() {
		select {
		case <-o.Ended():
		case <-patience:
			s.cfg.Logger.Error("an owner has not ended; its disk does not answer", "partition", o.Status().Partition)
			return false
		}
	}
	return true
}
