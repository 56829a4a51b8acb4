package request_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/internal/request/requesttest"
)

// A caller that hangs up takes nobody with it: kgo fails a batch with the context of its
// first record, and records of others stand behind that.
func TestACallerThatHangsUpFailsNobodyElse(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"a timeout of its own": 20 * time.Second, "the default": 0} {
		t.Run(name, func(t *testing.T) { hangUp(t, timeout) })
	}
}

func hangUp(t *testing.T, timeout time.Duration) {
	fake, c := brokertest.StartFake(t, topics.Options{Partitions: 1})
	held, arrived := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fake.ControlKey(kmsg.Produce.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		once.Do(func() { close(arrived) })
		fake.SleepControl(func() { <-held })
		return nil, nil, false
	})
	a, err := request.Open(t.Context(), request.Options{Kafka: c.Config, Source: "test", ProduceTimeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	asked := func(ctx context.Context) *request.Call {
		call, err := a.Call(ctx, request.Command{Name: "pause", Workflow: "w", Body: []byte(`{}`)}, false)
		if err != nil {
			t.Fatal(err)
		}
		return call
	}
	first := asked(within(t))
	<-arrived // what follows waits in the client, in one batch
	gone, cancel := context.WithCancel(within(t))
	asked(gone)
	waits := []*request.Call{first, asked(within(t)), asked(within(t))}
	cancel()
	close(held)
	requesttest.Start(t, c.Config, requesttest.Echo)
	for i, call := range waits {
		if _, err := call.Decided(within(t)); err != nil {
			t.Errorf("request %d of those who wait failed: %v", i, err)
		}
	}
}
