package readinessd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/service"
	"github.com/heddle-run/heddle/services/readiness"
)

// Config of the service.
type Config struct {
	Kafka    kafka.Config
	Listen   string       // address of the HTTP endpoints; empty: none, unless Listener is given
	Listener net.Listener // instead of Listen; the service owns it
	Limits   readiness.Limits
	Logger   *slog.Logger         // nil: silent
	Registry *prometheus.Registry // nil: one of its own
}

const (
	// deriveEvery bounds how late a change shows, and how often one is published.
	deriveEvery = 250 * time.Millisecond

	// refreshEvery is how often the cluster is looked at.
	refreshEvery = 5 * time.Second

	stopGrace = 5 * time.Second
)

// Service is the running service.
type Service struct {
	cfg      Config
	logger   *slog.Logger
	set      *topics.Set
	admin    *kgo.Client
	tail     *kgo.Client
	producer *kgo.Client
	table    *statusTable
	metrics  *metrics
	health   service.Health
}

// Run serves until ctx ends. ready is called once the first readiness is
// published.
func Run(ctx context.Context, cfg Config, ready func()) error {
	s, err := open(ctx, cfg)
	if err != nil {
		if cfg.Listener != nil {
			err = errors.Join(err, cfg.Listener.Close())
		}
		return fmt.Errorf("readiness: %w", err)
	}
	defer s.close()
	group := service.Group{Logger: s.logger, StopTimeout: 2 * stopGrace}
	group.Add("readiness records", s.follow)
	group.Add("readiness cluster", s.watchCluster)
	group.Add("readiness unread", s.watchUnread)
	if cfg.Listener != nil || cfg.Listen != "" {
		group.Add("readiness http", s.serveHTTP)
	}
	return group.Run(ctx, ready)
}

func open(ctx context.Context, cfg Config) (_ *Service, err error) {
	s := &Service{cfg: cfg, logger: cfg.Logger}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if s.cfg.Registry == nil {
		s.cfg.Registry = prometheus.NewRegistry()
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.admin, err = kafka.NewAdmin(cfg.Kafka); err != nil {
		return nil, err
	}
	names, err := cfg.Kafka.Names()
	if err != nil {
		return nil, err
	}
	if s.set, err = topics.Default().Discover(ctx, s.admin, names.Prefix()); err != nil {
		return nil, err
	}
	if _, err = s.set.CheckToRun(ctx, s.admin); err != nil {
		return nil, err
	}
	if err = kafka.MayWrite(ctx, s.admin); err != nil {
		return nil, err
	}
	if s.tail, err = kafka.NewNewestTail(ctx, cfg.Kafka, s.set.Authority()); err != nil {
		return nil, err
	}
	if s.producer, err = kafka.NewEffectsProducer(cfg.Kafka); err != nil {
		return nil, err
	}
	s.table = newStatusTable(s.set.Partitions(), cfg.Limits)
	s.metrics = newMetrics(s.cfg.Registry)
	s.health.Live("records", s.table.alive)
	return s, nil
}

func (s *Service) close() {
	for _, cl := range []*kgo.Client{s.tail, s.producer, s.admin} {
		if cl != nil {
			cl.Close()
		}
	}
	if s.metrics != nil {
		s.metrics.unregister(s.cfg.Registry)
	}
}
