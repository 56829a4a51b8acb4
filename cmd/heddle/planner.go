package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/shared/events"
)

// plannerCmd runs the planner service.
type plannerCmd struct {
	serviceSettings
	Data           string        `required:"" placeholder:"DIR" help:"Directory of the partitions' stores; they can always be made again."`
	TokenKey       string        `required:"" placeholder:"SECRET" help:"The deployment's secret, equal on all planners: at least 16 bytes, as text or hex."`
	NeverRunsTwice bool          `help:"Promise that a process of this --name never runs twice at a time, as in a StatefulSet: it takes its own older leases over at once."`
	CacheBytes     int64         `default:"67108864" help:"Bytes of stored blocks to keep in memory, for all partitions together."`
	HotBytes       int           `default:"67108864" help:"Bytes of hot workflows to keep in memory, for each partition."`
	DedupeWindow   time.Duration `default:"24h" help:"How long a repeated command is recognised, equal on all planners: at most half of what the commands topic keeps."`
	MaxActive      int           `help:"Attempts of one workflow at a time, unless its options say less; 0 is the default of 1,000."`
}

// Run implements the command.
func (c *plannerCmd) Run(a *app) error {
	key := tokenKey(c.TokenKey)
	if len(key) < minTokenKey {
		return usageError("--token-key has %d bytes, want at least %d", len(key), minTokenKey)
	}
	if c.DedupeWindow <= 0 {
		return usageError("--dedupe-window is %s, want more than 0", c.DedupeWindow)
	}
	if _, err := c.checkTopics(a); err != nil {
		return err
	}
	if c.Name == "" && !c.NeverRunsTwice {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("asking for the host name: %w", err)
		}
		c.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	return c.runService(a, "planner", func(ctx context.Context, ready func(), reg *prometheus.Registry) error {
		return plannerd.Run(ctx, plannerd.Config{
			Kafka: c.kafka(), DataDir: c.Data, Instance: c.Name, TokenKey: key,
			CacheBytes: c.CacheBytes, MaxActive: c.MaxActive,
			Partition: partition.Settings{CacheBytes: c.HotBytes, NeverRunsTwice: c.NeverRunsTwice, Window: c.DedupeWindow},
			Ready:     ready, Logger: c.logger(a), Registerer: reg,
		})
	})
}

const minTokenKey = 16

// tokenKey reads the secret: hex of enough bytes, or else the text itself.
func tokenKey(text string) events.Key {
	if raw, err := hex.DecodeString(text); err == nil && len(raw) >= minTokenKey {
		return raw
	}
	return events.Key(text)
}
