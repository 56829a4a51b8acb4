package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
	"github.com/heddle-run/heddle/sdk/store/pebblestore"
	"github.com/heddle-run/heddle/sdk/store/postgres"
	"github.com/heddle-run/heddle/sdk/store/sqlite"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/services/planner/archive/archiver"
)

// archiveSettings say where runs are kept outside Kafka.
type archiveSettings struct {
	ArchiveStore string `placeholder:"ADDRESS" help:"Where runs are kept outside Kafka: pebble:DIR (one process), sqlite:FILE (one machine) or postgres://USER@HOST/DATABASE."`
	ArchiveKeep  string `enum:"closed,all" default:"closed" help:"What an archiver keeps: closed runs, and those that will be deleted by their age; or all, so that what lives can be read elsewhere, too."`
}

// stores makes the stores known that this program links.
var stores = sync.OnceFunc(func() {
	store.Register("memory", memory.Open)
	store.Register("pebble", pebblestore.Open)
	store.Register("sqlite", sqlite.Open)
	store.Register("postgres", postgres.Open)
	store.Register("postgresql", postgres.Open)
})

func (s *archiveSettings) openStore(ctx context.Context) (store.Opened, error) {
	stores()
	st, err := store.Open(ctx, s.ArchiveStore)
	if err != nil {
		return nil, usageError("--archive-store: %w", err)
	}
	return st, nil
}

// config is an archiver's with these settings.
func (s *archiveSettings) config(k kafka.Config, st store.Store, name string, logger *slog.Logger, reg prometheus.Registerer) archiver.Config {
	return archiver.Config{Kafka: k, Store: st, Settings: archive.Settings{All: s.ArchiveKeep == "all"}, Name: name, Logger: logger, Registry: reg}
}

// archiverCmd runs an archiver on its own.
type archiverCmd struct {
	serviceSettings
	archiveSettings
}

// Run implements the command.
func (c *archiverCmd) Run(a *app) error {
	if c.ArchiveStore == "" {
		return usageError("--archive-store is missing: where runs are kept")
	}
	if _, err := c.checkTopics(a); err != nil {
		return err
	}
	st, err := c.openStore(a)
	if err != nil {
		return err
	}
	defer st.Close()
	return c.runService(a, "archiver", func(ctx context.Context, ready func(), reg *prometheus.Registry) error {
		return archiver.Run(ctx, c.config(c.kafka(), st, c.Name, c.logger(a), reg), ready)
	})
}
