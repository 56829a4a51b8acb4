package worker

import (
	"context"
	"encoding/json"
	"testing"

	core "github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/events"
)

type parcel struct {
	Item  string `json:"item"`
	Count int    `json:"count"`
}

// BenchmarkHandler is what it costs to call a task's function.
func BenchmarkHandler(b *testing.B) {
	b.Run("raw", benchmarkHandler[json.RawMessage])
	b.Run("typed", benchmarkHandler[parcel])
}

func benchmarkHandler[T any](b *testing.B) {
	w, err := New(Options{Brokers: []string{"127.0.0.1:1"}})
	if err != nil {
		b.Fatal(err)
	}
	Handle(w, task.Define[T, T]("task"), func(_ context.Context, v T) (T, error) { return v, nil })
	h, _ := w.lookup("task")
	a := &core.Attempt{Workflow: "w", Spec: events.Task{Task: "task", Component: "c", Input: json.RawMessage(`{"item":"mug","count":2}`)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Run(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}
