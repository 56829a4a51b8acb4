package definitions_test

import (
	"context"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/definitions"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// A book whose topic is made anew has what the new one has.
func TestABookAdoptsATopicThatIsMadeAnew(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	old := parse(t, `{"name":"old","components":{"a":{"expr":"input * 2"}}}`)
	register(t, c, old)
	book, err := definitions.Open(ctx, c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()

	c.Remake(t, c.Topics.Definitions())
	fresh := parse(t, `{"name":"fresh","components":{"a":{"expr":"input + input"}}}`)
	register(t, c, fresh)
	for {
		if e, ok := book.Resolve("fresh"); ok && e.Digest == fresh.Digest {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatal("the new topic is not read")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if e, ok := book.Resolve("old"); ok {
		t.Errorf("the old topic's %+v is in the book", e)
	}
	if err := book.Sync(ctx); err != nil {
		t.Error(err)
	}
}
