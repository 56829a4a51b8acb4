package kafka_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// The question whether one may write is asked again while a cluster begins, and for as
// long as other requests are where it cannot be reached.
func TestTheRightToWriteIsAskedForWithPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, c := brokertest.StartFakeInBubble(t, topics.Options{Partitions: 1})
		loading := 5
		fake.ControlKey(kmsg.InitProducerID.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
			fake.KeepControl()
			if loading--; loading < 0 {
				return nil, nil, false
			}
			resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
			resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code
			return resp, nil, true
		})
		away, dial := time.Now().Add(20*time.Second), c.Config.Dialer
		c.Config.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if time.Now().Before(away) {
				return nil, &net.OpError{Op: "dial", Err: errors.New("no route")}
			}
			return dial(ctx, network, addr)
		}
		cl, err := kafka.NewAdmin(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(cl)
		if err := kafka.MayWrite(t.Context(), cl); err != nil {
			t.Errorf("after %v: %v", time.Since(away), err)
		}
	})
}
