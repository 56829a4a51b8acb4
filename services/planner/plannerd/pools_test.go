package plannerd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/shared/events"
)

const pooled = `{"definition":{"name":"pooled","components":{"a":{"step":"test.echo","policy":{"executor":"pool:images"}}}},"input":1}`

// poolGauges are the metrics of pools.
func poolGauges(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if pool := labels["pool"]; pool != "" {
				all[fmt.Sprint(pool, " ", f.GetName()[len("heddle_planner_pool_"):], " ", labels["state"])] = m.GetGauge().GetValue()
			}
		}
	}
	return all
}

// What pools are at is in the metrics of their owner, and in what it publishes of the partition: which readiness warns by.
func TestAnOwnerTellsWhatItsPoolsAreAt(t *testing.T) {
	inWorld(t, func(w *world) {
		reg := prometheus.NewRegistry()
		w.seeded = func(c *plannerd.Config) { c.Registerer = reg }
		var mu sync.Mutex
		published := map[string]runtime.PoolBacklog{}
		w.tail(w.names.Authority(), func(k *kgo.Record) {
			var rec runtime.Record
			if err := json.Unmarshal(k.Value, &rec); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(published, rec.Backlog.Pools)
		})
		tells := func(want runtime.PoolBacklog, gauges map[string]float64) bool {
			mu.Lock()
			defer mu.Unlock()
			got := published["images"]
			if queued := got.OldestQueuedSince != nil; queued != (want.Queued > 0) {
				return false
			}
			got.OldestQueuedSince = nil
			return got == want && maps.Equal(poolGauges(t, reg), gauges)
		}
		_, stop := w.planner("p")
		for _, id := range []string{"w1", "w2"} {
			w.commandWaiting(id, "start", pooled, "")
		}
		w.until(func() bool {
			return tells(runtime.PoolBacklog{Queued: 2}, map[string]float64{
				"images attempts queued": 2, "images attempts running": 0, "images slots ": 0, "images free_slots ": 0,
				"images runners connected": 0, "images runners passed_over": 0, "images runners lost": 0, "images runners draining": 0,
			})
		})
		report := events.EncodeInbox(&events.RunnerReport{
			Connection: events.Connection{Executor: "x", Number: 1}, Hello: &events.RunnerHello{Key: "a", Slots: 3, Instance: "i"},
		})
		if err := w.client.ProduceSync(context.Background(), kafka.Keyed(w.names.Inbox(), []byte("pool:images"), report)).FirstErr(); err != nil {
			t.Fatal(err)
		}
		w.until(func() bool {
			return tells(runtime.PoolBacklog{Connected: 1, Slots: 3, Free: 1, Running: 2}, map[string]float64{
				"images attempts queued": 0, "images attempts running": 2, "images slots ": 3, "images free_slots ": 1,
				"images runners connected": 1, "images runners passed_over": 0, "images runners lost": 0, "images runners draining": 0,
			})
		})
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
