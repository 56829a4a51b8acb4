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

// breaking is a connection that breaks at what is written, for a reason that only the
// way to the brokers knows.
type breaking struct {
	net.Conn
	until time.Time
}

// Write implements net.Conn.
func (b breaking) Write(p []byte) (int, error) {
	if time.Now().Before(b.until) {
		return 0, errors.New("the connection is broken")
	}
	return b.Conn.Write(p)
}

// A connection that breaks is no answer: the question is asked again over the next.
func TestABrokenConnectionIsNoVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := brokertest.StartFakeInBubble(t, topics.Options{Partitions: 1})
		until, dial := time.Now().Add(5*time.Second), c.Config.Dialer
		c.Config.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return breaking{conn, until}, err
		}
		cl, err := kafka.NewAdmin(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(cl)
		if err := kafka.MayWrite(t.Context(), cl); err != nil {
			t.Errorf("%v before the connections are whole: %v", time.Until(until), err)
		}
	})
}
