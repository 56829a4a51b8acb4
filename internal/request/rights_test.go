package request_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/request"
)

// A client that may not write is told so at once, and not at each request for ever.
func TestWhoMayNotWriteIsToldAtOnce(t *testing.T) {
	fake, c := brokertest.StartFake(t, topics.Options{Partitions: 1})
	fake.ControlKey(kmsg.InitProducerID.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp, nil, true
	})
	o := request.Options{Kafka: c.Config, Source: "test"}
	if a, err := request.Open(t.Context(), o); !kafka.IsUnauthorized(err) {
		t.Fatalf("a client that may not write opened %v, %v", a, err)
	}
	a, err := request.Open(t.Context(), o) // the right is granted meanwhile
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
}
