package worker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/events"
)

// A worker that may not report yet takes nothing, and reports once it may: kgo's
// producer would keep the refusal for ever.
func TestAWorkerWaitsForTheRightToReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const refusals = 3
		fake, c := brokertest.StartFakeInBubble(t, topics.Options{Partitions: 1, QueuePartitions: 1})
		p := workertest.New(t, c)
		p.Dispatch("default", 0, "w", p.Task("w", "echo", 1)) // its producer has its id from now on
		asked := 0
		fake.ControlKey(kmsg.InitProducerID.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
			fake.KeepControl()
			if asked++; asked > refusals {
				return nil, nil, false
			}
			resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
			resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
			return resp, nil, true
		})
		r := start(t, p, 1, handlers{"echo": echo})
		if o := p.Outcome(10 * time.Second); o.Outcome != events.OutcomeCompleted {
			t.Errorf("the attempt ended as %+v", o)
		}
		r.stop()
		if asked <= refusals {
			t.Errorf("the worker asked %d times for the id of a producer", asked)
		}
	})
}
