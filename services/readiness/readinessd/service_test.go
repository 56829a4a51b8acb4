package readinessd_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/services/readiness/readinessd"
)

// rig runs the service over a broker of two partitions.
type rig struct {
	*brokertest.Cluster
	url   string
	out   *kgo.Client
	shown *kgo.Client // tails readiness
	ctx   context.Context
}

func start(t *testing.T, leases ...runtime.Authority) *rig {
	t.Helper()
	r := &rig{Cluster: brokertest.Start(t, topics.Options{Partitions: 2})}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	r.ctx = ctx
	var err error
	if r.out, err = kafka.NewEffectsProducer(r.Config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.out.Close)
	if r.shown, err = kafka.NewTail(r.Config, kafka.FromStart, r.Topics.Readiness()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.shown.Close)
	for p, a := range leases {
		r.publish(t, p, a)
	}
	r.run(t)
	return r
}

func (r *rig) run(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + ln.Addr().String()
	running, stop := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- readinessd.Run(running, readinessd.Config{Kafka: r.Config, Listener: ln}, func() { close(ready) })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the service ended with %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		done <- err
		t.Fatalf("the service did not start: %v", err)
	case <-r.ctx.Done():
		t.Fatal("the service is not ready in time")
	}
}

func (r *rig) publish(t *testing.T, partition int, a runtime.Authority) {
	t.Helper()
	value, err := json.Marshal(runtime.Record{SchemaVersion: 1, Authority: a})
	if err != nil {
		t.Fatal(err)
	}
	rec := kafka.Placed(r.Topics.Authority(), int32(partition), []byte(strconv.Itoa(partition)), value)
	if err := r.out.ProduceSync(t.Context(), rec).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// until reads the readiness topic up to an aggregate of these reasons; a
// trailing * stands for any rest.
func (r *rig) until(t *testing.T, want ...string) runtime.Aggregate {
	t.Helper()
	var last runtime.Aggregate
	for {
		fetches := r.shown.PollFetches(r.ctx)
		if r.ctx.Err() != nil {
			t.Fatalf("the last reasons are %q, want %q", last.Reasons, want)
		}
		for _, rec := range fetches.Records() {
			if string(rec.Key) != runtime.AggregateKey {
				continue
			}
			last = runtime.Aggregate{}
			if err := json.Unmarshal(rec.Value, &last); err != nil {
				t.Fatal(err)
			}
			if slices.EqualFunc(last.Reasons, want, matches) {
				return last
			}
		}
	}
}

func matches(got, want string) bool {
	prefix, any := strings.CutSuffix(want, "*")
	return got == want || any && strings.HasPrefix(got, prefix)
}

func (r *rig) get(t *testing.T, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(b))
}

func held(owner string, d time.Duration) runtime.Authority {
	return runtime.Held(owner, "l", time.Now().Add(d), 1)
}

func TestReadyWhenEveryPartitionHasAnOwner(t *testing.T) {
	r := start(t, held("a", time.Hour))
	r.until(t, "partition 1: authority lease not acquired")
	if code, body := r.get(t, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "partition 1: authority lease not acquired") {
		t.Fatalf("readyz: %d %s", code, body)
	}
	r.publish(t, 1, held("b", time.Hour))
	r.until(t)
	code, ready := r.get(t, "/readyz")
	if _, shown := r.get(t, "/v1/readiness"); code != http.StatusOK || shown != ready {
		t.Fatalf("readyz: %d %s; readiness: %s", code, ready, shown)
	}
	if code, body := r.get(t, "/v1/readiness/1"); code != http.StatusOK || !strings.Contains(body, `"owner":"b"`) {
		t.Fatalf("partition 1: %d %s", code, body)
	}
	if code, _ := r.get(t, "/v1/readiness/2"); code != http.StatusNotFound {
		t.Fatalf("partition 2: %d", code)
	}
	if _, body := r.get(t, "/metrics"); !strings.Contains(body, "heddle_readiness_ready 1") {
		t.Fatalf("metrics: %s", body)
	}
}

func TestDeadPlannerIsSeenByItsExpiredLease(t *testing.T) { // AU19, AU22
	until := time.Now().Add(1500 * time.Millisecond)
	r := start(t, runtime.Held("a", "l", until, 1), held("b", time.Hour))
	r.until(t)
	r.until(t, "partition 0: authority lease expired: "+runtime.FormatTime(until))
	if late := time.Since(until); late > time.Second {
		t.Fatalf("the expiry showed after %s, want within a second", late)
	}
	r.publish(t, 0, held("b", time.Hour)) // another took over
	r.until(t)
}

func TestMalformedRecordIsNoLease(t *testing.T) {
	r := start(t, held("a", time.Hour), held("b", time.Hour))
	r.until(t)
	rec := kafka.Placed(r.Topics.Authority(), 1, []byte("1"), []byte("{"))
	if err := r.out.ProduceSync(t.Context(), rec).FirstErr(); err != nil {
		t.Fatal(err)
	}
	r.until(t, "partition 1: authority lease invalid: *")
}
