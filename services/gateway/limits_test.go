package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/access"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
)

func TestNetworkNeedsKeys(t *testing.T) {
	for listen, allowed := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true, "0.0.0.0:0": false, ":0": false, "10.0.0.1:80": false, "example.com:80": false,
	} {
		err := gateway.Run(context.Background(), gateway.Config{Listen: listen}, nil, nil)
		exposed := err != nil && strings.Contains(err.Error(), "without API keys")
		if exposed == allowed {
			t.Errorf("%s: %v", listen, err)
		}
	}
	cfg := gateway.Config{Listen: "0.0.0.0:0", Insecure: true} // goes on to fail without brokers
	if err := gateway.Run(context.Background(), cfg, nil, nil); err == nil || strings.Contains(err.Error(), "without API keys") {
		t.Errorf("insecure: %v", err)
	}
}

func TestRolesIncludeEachOther(t *testing.T) {
	key := func(text, role string) access.Key {
		sum := sha256.Sum256([]byte(text))
		k, err := access.ParseKey("ann:" + role + ":" + hex.EncodeToString(sum[:]))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	r := start(t, planner, func(c *gateway.Config) {
		c.APIKeys = access.Keys{key("looker", "read"), key("doer", "write"), key("keeper", "operate")}
	})
	for _, test := range []struct {
		key, method, path string
		status            int
	}{
		{"", "GET", "/v1/workflows/w", 401},
		{"nobody", "GET", "/v1/workflows/w", 401},
		{"looker", "GET", "/v1/workflows/w", 200},
		{"looker", "POST", "/v1/workflows/w/pause", 403},
		{"doer", "GET", "/v1/workflows/w", 200},
		{"doer", "POST", "/v1/workflows/w/pause", 200},
		{"doer", "DELETE", "/v1/workflows/w", 403},
		{"keeper", "DELETE", "/v1/workflows/w", 200},
		{"doer", "POST", "/v1/pools/images/runners/a/stop", 403},
		{"keeper", "POST", "/v1/pools/images/runners/a/stop", 422},
		{"", "GET", "/livez", 200},
	} {
		var headers []string
		if test.key != "" {
			headers = []string{"Authorization", "Bearer " + test.key}
		}
		if got := r.ask(t, test.method, test.path, "", headers...); got.status != test.status {
			t.Errorf("%s %s with %q: %d %s", test.method, test.path, test.key, got.status, got.body)
		}
	}
	if _, err := access.ParseKey("ann:king:00"); err == nil {
		t.Error("a role that is none was taken")
	}
}

func TestForeignPagesAreKeptOut(t *testing.T) {
	r := start(t, planner)
	if got := r.ask(t, "POST", "/v1/workflows/w/pause", "", "Origin", "https://evil.example"); got.status != 403 || got.code() != "cross_origin" {
		t.Errorf("another origin: %d %s", got.status, got.body)
	}
	if got := r.ask(t, "GET", "/v1/workflows/w", "", "Host", "evil.example"); got.status != 403 || got.code() != "host_not_allowed" {
		t.Errorf("another name: %d %s", got.status, got.body)
	}
}

func TestRateIsPerClient(t *testing.T) {
	r := start(t, planner, func(c *gateway.Config) { c.Limits.Rate = 0.1 })
	var last reply
	for range 3 {
		last = r.ask(t, "GET", "/livez", "")
	}
	if last.status != 429 || last.code() != "too_many_requests" || last.header.Get("Retry-After") == "" || !strings.Contains(last.body, "0.1 requests per second") {
		t.Fatalf("%d %v %s", last.status, last.header, last.body)
	}
}

func TestRequestsAtOnceAreBounded(t *testing.T) {
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	r := start(t, func(q requesttest.Request) []events.Reply {
		arrived <- struct{}{}
		<-release
		return planner(q)
	}, func(c *gateway.Config) { c.Limits.InFlight = 1 })
	done := make(chan reply, 1)
	go func() { done <- r.ask(t, "GET", "/v1/workflows/w", "") }()
	<-arrived
	if got := r.ask(t, "GET", "/livez", ""); got.status != 429 || got.code() != "too_many_in_flight" {
		t.Errorf("%d %s", got.status, got.body)
	}
	close(release)
	if got := <-done; got.status != 200 {
		t.Errorf("the first one: %d %s", got.status, got.body)
	}
}

func TestUnknownRoutesAreProblems(t *testing.T) {
	r := start(t, planner)
	if got := r.ask(t, "GET", "/v2/workflows", ""); got.status != 404 || got.code() != "no_such_route" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := r.ask(t, "PATCH", "/v1/workflows/w", ""); got.status != 405 || got.code() != "method_not_allowed" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestGatewayRefusesAClusterWithoutTopics(t *testing.T) {
	r := start(t, planner)
	cfg := gateway.Config{Kafka: r.Config}
	cfg.Kafka.Prefix = "other."
	if _, err := gateway.Open(r.ctx, cfg); err == nil || !strings.Contains(err.Error(), "other.commands") {
		t.Fatalf("got %v", err)
	}
	if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		t.Fatal("it took too long")
	}
}
