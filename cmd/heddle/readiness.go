package main

import (
	"context"

	"github.com/heddle-run/heddle/internal/service"
	"github.com/heddle-run/heddle/services/readiness/readinessd"
)

// readinessCmd runs the readiness service.
type readinessCmd struct {
	cluster
	logging
	HTTP string `placeholder:"ADDR" help:"Address of /v1/readiness, /livez, /readyz and /metrics; without it they are not served."`
}

// Run implements the command.
func (c *readinessCmd) Run(a *app) error {
	if _, err := c.checkTopics(a); err != nil {
		return err
	}
	logger := c.logger(a)
	group := service.Group{Logger: logger}
	group.Add("readiness", func(ctx context.Context, ready func()) error {
		cfg := readinessd.Config{Kafka: c.kafka(), Listen: c.HTTP, Logger: logger, Registry: newRegistry()}
		return readinessd.Run(ctx, cfg, ready)
	})
	return group.Run(a, nil)
}
