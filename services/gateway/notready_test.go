package gateway_test

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
)

// A gateway does with commands for a partition that is not ready what it is told: write, hold or refuse them.
func TestCommandsForAPartitionThatIsNotReady(t *testing.T) {
	p := strconv.Itoa(int(kafka.PartitionFor([]byte("w"), 2)))
	const blocked, served = `{"readiness":{"ready":false,"reasons":["authority lease not acquired"]}}`, `{"readiness":{"ready":true,"reasons":[]}}`
	for _, what := range []gateway.NotReady{"", gateway.AcceptNotReady, gateway.HoldNotReady, gateway.RefuseNotReady} {
		t.Run(string(what), func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			r := start(t, func(requesttest.Request) []events.Reply {
				asked.Add(1)
				return []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone}}
			}, func(c *gateway.Config) { c.NotReady, c.Limits.Answer = what, 30*time.Second })
			publish := func(snapshot string) {
				for key, value := range map[string]string{p: snapshot, "all": `{}`} {
					r.readiness(t, key, value)
				}
				awaitTrue(t, r.ctx, func() bool {
					return strings.TrimSpace(r.ask(t, "GET", "/v1/readiness/"+p, "").body) == snapshot
				})
			}
			if a := r.ask(t, "POST", "/v1/workflows/w/pause", ""); a.status != 200 {
				t.Errorf("before anything is published: %d %s", a.status, a.body)
			}
			publish(blocked)
			if a := r.ask(t, "POST", "/v1/partitions/"+p+"/force-release", byAnn); a.status != 200 {
				t.Errorf("an operator's word: %d %s", a.status, a.body)
			}
			asked.Store(0)
			answer := make(chan reply, 1)
			go func() { answer <- r.ask(t, "POST", "/v1/workflows/w/pause", "") }()
			if what == gateway.HoldNotReady {
				a := r.ask(t, "POST", "/v1/workflows/"+r.otherThan("w")+"/pause", "")
				if a.status != 200 || asked.Load() != 1 {
					t.Errorf("a partition that is ready: %d %s, and planners were asked %d times", a.status, a.body, asked.Load())
				}
				publish(served)
			}
			a := <-answer
			switch what {
			case gateway.RefuseNotReady:
				if a.status != 503 || a.code() != "unavailable" || a.header.Get("Retry-After") == "" || asked.Load() != 0 ||
					!strings.Contains(a.body, "partition "+p+" of the workflow is not ready: authority lease not acquired") {
					t.Errorf("%d %s, and planners were asked %d times", a.status, a.body, asked.Load())
				}
			default:
				if a.status != 200 {
					t.Errorf("%d %s", a.status, a.body)
				}
			}
		})
	}
}

// otherThan is an ID in another partition.
func (r *rig) otherThan(id string) string {
	for n := 0; ; n++ {
		other := "w" + strconv.Itoa(n)
		if kafka.PartitionFor([]byte(other), 2) != kafka.PartitionFor([]byte(id), 2) {
			return other
		}
	}
}

// One that is held for too long is refused with the reason.
func TestACommandIsNotHeldForEver(t *testing.T) {
	p := strconv.Itoa(int(kafka.PartitionFor([]byte("w"), 2)))
	r := start(t, nil, func(c *gateway.Config) { c.NotReady, c.Limits.Answer = gateway.HoldNotReady, 20*time.Millisecond })
	for key, value := range map[string]string{p: `{"readiness":{"ready":false,"reasons":["replay has 5 pending events"]}}`, "all": `{}`} {
		r.readiness(t, key, value)
	}
	awaitTrue(t, r.ctx, func() bool {
		a := r.ask(t, "POST", "/v1/workflows/w/pause", "")
		return a.status == 503 && strings.Contains(a.body, "replay has 5 pending events")
	})
	if _, err := gateway.Open(r.ctx, gateway.Config{Kafka: r.Config, NotReady: "wait"}); err == nil || !strings.Contains(err.Error(), "accept, hold or refuse") {
		t.Errorf("a setting that is none: %v", err)
	}
}
