package worker

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// What keeps a worker from its queue is told once, until it takes again.
func TestAQueueThatCannotBeTakenIsToldOnce(t *testing.T) {
	var said bytes.Buffer
	tk := &Worker{log: slog.New(slog.NewTextHandler(&said, nil))}
	c := &consumer{worker: tk, topic: "tasks"}
	bad := kgo.NewErrFetch(kerr.UnknownTopicOrPartition)
	for _, step := range []struct {
		fetches kgo.Fetches
		failed  bool
		lines   int
	}{
		{bad, true, 1}, {bad, true, 1}, {nil, false, 1}, {bad, true, 1},
		{kgo.NewErrFetch(errors.New("another")), true, 2},
		{fetchOf(&kgo.Record{Topic: "tasks"}), false, 3}, {fetchOf(&kgo.Record{Topic: "tasks"}), false, 3},
		{bad, true, 4},
	} {
		failed := c.troubled(step.fetches)
		if lines := strings.Count(said.String(), "\n"); failed != step.failed || lines != step.lines {
			t.Fatalf("failed: %v, want %v; %d lines, want %d:\n%s", failed, step.failed, lines, step.lines, &said)
		}
	}
}
