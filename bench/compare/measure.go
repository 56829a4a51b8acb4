package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/heddle-run/heddle/internal/bench"
)

// meter measures builds, each workload in a process of its own.
type meter struct {
	options
	dir   string
	log   io.Writer
	floor *build // measures the floor for both
}

func (m *meter) overKafka() bool { return m.Kafka || len(m.Brokers) > 0 }

// turn measures each setting once with each build. Which build begins changes from turn
// to turn.
func (m *meter) turn(ctx context.Context, turn int, base, tree *build, r *results) error {
	builds := []*build{base, tree}
	if turn%2 == 1 {
		builds = []*build{tree, base}
	}
	if m.overKafka() {
		return m.turnOverKafka(ctx, builds, tree, r)
	}
	for _, s := range r.settings {
		for _, b := range builds {
			args, err := embedded(ctx, b, s)
			if err != nil {
				return err
			}
			f, err := m.bench(ctx, b, s, args...)
			if err != nil {
				return err
			}
			r.add(s, b == tree, measurement{Figure: f})
		}
	}
	return nil
}

// embedded are the arguments of a run that has a deployment of its own.
func embedded(ctx context.Context, b *build, s setting) ([]string, error) {
	has, err := b.has(ctx, "bench", "archive=")
	if err != nil || !has { // a build without an archive archives nothing
		return nil, err
	}
	if s.archive == "none" {
		return []string{"--archive", "none"}, nil
	}
	return []string{"--archive", "closed"}, nil
}

// bench runs `heddle bench` once.
func (m *meter) bench(ctx context.Context, b *build, s setting, args ...string) (f bench.Figure, err error) {
	args = append([]string{
		"bench", "--workload", s.workload, "--concurrency", strconv.Itoa(s.clients),
		"--duration", m.Duration.String(), "--warm-up", m.WarmUp.String(), "--output", "json",
	}, args...)
	out, err := output(ctx, "", b.binary, args...)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal([]byte(out), &f); err != nil {
		return f, fmt.Errorf("the figure of %s: %w: %s", b.name, err, out)
	}
	if f.Errors > 0 {
		return f, fmt.Errorf("%s: %d workflows of %s with %d clients failed, the first with: %s", b.name, f.Errors, s.workload, s.clients, f.FirstError)
	}
	fmt.Fprintf(m.log, "  %-9s %4d clients, archive %-7s %-9s %9.0f steps/s  p50 %7.2f ms\n", s.workload, s.clients, s.archive, b.name, f.StepsPS, f.P50)
	return f, nil
}
