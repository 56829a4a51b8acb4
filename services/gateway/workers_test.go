package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
)

// aLimit is what the planner says behind what an attempt waits for.
const aLimit = "; one must begin it by noon"

// waiting is a script whose workflow has one attempt in each queue that no worker has
// answered for.
func waiting(queues ...string) requesttest.Script {
	return func(q requesttest.Request) []events.Reply {
		var items []string
		for i, queue := range queues {
			items = append(items, fmt.Sprintf(`{"id":"r%d","component":"c","task":"%s.x","queue":%q,"status":"active","attempt":1,"token":null,`+
				`"input":{"waits_for":1},"result":null,"error":null,"due_at":null,"waits_for":%q,"attempts":[]}`, i, queue, queue, events.AwaitsWorker(queue)+aLimit))
		}
		return []events.Reply{requesttest.Answer(`{"items":[` + strings.Join(items, ",") + `],"next_cursor":null}`)}
	}
}

// member is a worker that joins a queue's group and takes nothing.
type member chan struct{}

func (m member) Assigned(context.Context, string, []int32) { close(m) }
func (m member) Revoked(context.Context, string, []int32)  {}
func (m member) Lost(context.Context, string, []int32)     {}

func TestWhoTakesFromAQueueIsTold(t *testing.T) {
	fake, c := brokertest.StartFake(t, topics.Options{Partitions: 2, Queues: []string{"step", "stp", "other"}})
	requesttest.Start(t, c.Config, waiting("step", "stp", "other"))
	r := start(t, nil, func(cfg *gateway.Config) { cfg.Kafka = c.Config })
	joined := make(member)
	cl, err := kafka.NewQueueConsumer(c.Config, "step", false, joined)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for assigned := false; !assigned; {
		select {
		case <-joined:
			assigned = true
		case <-r.ctx.Done():
			t.Fatal("the worker has no partition")
		default:
			cl.PollFetches(shortly(r.ctx))
		}
	}
	body := r.ask(t, "GET", "/v1/workflows/w/runnables", "").body
	for _, want := range []string{
		`a worker of the queue \"step\": none has said that it runs it; one must begin it by noon"`,
		`a worker of the queue \"stp\": no worker takes from it now, so none runs stp.x; nearest queue that has workers: \"step\"; one must begin it by noon"`,
		`a worker of the queue \"other\": no worker takes from it now, so none runs other.x; one must begin it by noon"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	refuseGroups(fake)
	again := start(t, nil, func(cfg *gateway.Config) { cfg.Kafka = c.Config })
	if body := again.ask(t, "GET", "/v1/workflows/w/runnables", "").body; strings.Contains(body, "no worker takes") || !strings.Contains(body, "none has said") {
		t.Errorf("where the gateway may not see groups: %s", body)
	}
}

// shortly is a context that has ended: what polls with it takes what is there.
func shortly(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// refuseGroups makes a cluster describe no group, as one with ACLs does.
func refuseGroups(fake *kfake.Cluster) {
	code := kerr.GroupAuthorizationFailed.Code
	fake.ControlKey(int16(kmsg.DescribeGroups), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
		for _, name := range req.(*kmsg.DescribeGroupsRequest).Groups {
			g := kmsg.NewDescribeGroupsResponseGroup()
			g.Group, g.ErrorCode = name, code
			resp.Groups = append(resp.Groups, g)
		}
		return resp, nil, true
	})
	fake.ControlKey(int16(kmsg.ConsumerGroupDescribe), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
		for _, name := range req.(*kmsg.ConsumerGroupDescribeRequest).Groups {
			g := kmsg.NewConsumerGroupDescribeResponseGroup()
			g.Group, g.ErrorCode = name, code
			resp.Groups = append(resp.Groups, g)
		}
		return resp, nil, true
	})
}
