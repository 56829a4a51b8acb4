package request_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/request"
)

// A client in the first moments of a deployment waits until its topics are there, and
// no longer than the bound.
func TestTopicsThatAreBeingMadeAreWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		found bool
	}{"soon": {4 * time.Second, true}, "never": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				later, apply := brokertest.StartInBubble(t, topics.Options{}).Without(t, "late.")
				made := time.AfterFunc(c.after, apply)
				defer made.Stop()
				began := time.Now()
				a, err := request.Open(context.Background(), request.Options{Kafka: later.Config, Source: "test"})
				took := time.Since(began)
				if found := err == nil; found != c.found || !found && !kafka.IsMissing(err) {
					t.Errorf("after %v: %v", took, err)
				}
				if took > 11*time.Second {
					t.Errorf("it took %v", took)
				}
				if err == nil {
					synctest.Wait()
					if err := a.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
