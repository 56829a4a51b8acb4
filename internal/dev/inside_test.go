package dev_test

import (
	"context"
	"testing"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/sdk/client"
)

// On a network in memory the gateway has room for all that wait in its one program, leaves no
// note for others, and comes back where it was.
func TestADeploymentIsWithinItsProcess(t *testing.T) {
	ctx := within(t)
	network := new(broker.Network)
	d := start(t, ctx, dev.Options{Memory: true, Partitions: 1, Network: network, Kafka: "localhost:9092"})
	defer stop(t, d)
	if _, err := devfile.Read(d.Dir); err == nil {
		t.Error("a note tells others of it")
	}
	if d.Brokers[0] != "localhost:9092" {
		t.Errorf("the broker is at %s", d.Brokers[0])
	}
	c, err := client.New(ctx, client.Options{URL: d.URL, HTTPClient: d.HTTPClient})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	crowded(t, ctx, network, func() {
		if _, err := c.Readiness(ctx); err != nil {
			t.Errorf("one among many: %v", err)
		}
	})
	if err := d.StopService(dev.Gateway); err != nil {
		t.Fatal(err)
	}
	if err := d.StartService(ctx, dev.Gateway); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Readiness(ctx); err != nil {
		t.Errorf("behind a restart: %v", err)
	}
}

// crowded calls fn while there are more connections than a gateway that others reach has for
// one client.
func crowded(t *testing.T, ctx context.Context, network *broker.Network, fn func()) {
	t.Helper()
	const perClient = 2048
	for range perClient + 1 {
		conn, err := network.DialContext(ctx, "tcp", "localhost:80")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	fn()
}
