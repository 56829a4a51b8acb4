package worker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
	"github.com/heddle-run/heddle/shared/events"
)

// A worker that is started before the topics of its deployment are made takes what is
// there soon after they are.
func TestAWorkerWaitsForTheTopicsOfItsDeployment(t *testing.T) {
	for name, classic := range map[string]bool{"KIP-848": false, "classic": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				later, apply := brokertest.StartInBubble(t, topics.Options{}).Without(t, "late.")
				made := time.AfterFunc(3*time.Second, apply)
				defer made.Stop()
				early := &workertest.Planner{Cluster: later}
				start(t, early, 1, handlers{"echo": echo}, func(c *worker.Config) { c.Classic = classic })
				time.Sleep(4 * time.Second)
				p := workertest.New(t, later)
				p.Dispatch("default", 0, "w", p.Task("w", "echo", 1))
				if o := p.Outcome(10 * time.Second); o.Outcome != events.OutcomeCompleted {
					t.Errorf("got %v", o.Outcome)
				}
			})
		})
	}
}
