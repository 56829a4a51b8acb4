package worker

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker/workertest"
)

func TestFetchingPausesWhileThereIsNoSlot(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		slow := HandlerFunc(func(context.Context, *Attempt) (json.RawMessage, error) {
			time.Sleep(5 * time.Second)
			return nil, nil
		})
		joined := make(chan struct{})
		tk, err := New(Config{Kafka: p.Config, Ready: func() { close(joined) }, Pools: []Pool{{
			Queues: []string{"default"}, Slots: 1, Lookup: func(string) (Handler, bool) { return slow, true },
		}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- tk.Run(ctx) }()
		<-joined
		p.Dispatch("default", 0, "w", p.Task("w", "a", nil), p.Task("w", "b", nil), p.Task("w", "c", nil))
		paused := func() bool {
			return slices.Contains(tk.consumers[0].client.Load().PauseFetchTopics(), tk.names.Tasks("default"))
		}
		time.Sleep(2 * time.Second)
		if !paused() {
			t.Error("it fetches while its only slot is taken")
		}
		for range 3 {
			p.Outcome(10 * time.Second)
		}
		synctest.Wait()
		if paused() {
			t.Error("it does not fetch though its slot is free")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
