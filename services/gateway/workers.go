package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/spelling"
)

const (
	// workersAge is how long what Kafka said of a queue's workers is taken as so.
	workersAge = 3 * time.Second

	// workersWait is how long a reading waits for Kafka's word on them.
	workersWait = 2 * time.Second
)

// workers knows from which queues somebody takes: which groups have members.
type workers struct {
	admin *kgo.Client
	names topics.Names

	mu     sync.Mutex
	known  map[string]attendance
	served []string // queues that somebody takes from, as far as this client may see
	failed error    // what Kafka said instead
	until  time.Time
}

// attendance reports whether somebody takes from a queue, for a while.
type attendance struct {
	some  bool
	until time.Time
}

func newWorkers(admin *kgo.Client, names topics.Names) *workers {
	return &workers{admin: admin, names: names, known: map[string]attendance{}}
}

// idle are those of the queues that nobody takes from, and served those that somebody
// takes from.
func (ws *workers) idle(ctx context.Context, queues []string) (idle map[string]bool, served []string, err error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	now := time.Now()
	if ws.failed != nil && now.Before(ws.until) {
		return nil, nil, ws.failed
	}
	var unknown []string
	for _, q := range queues {
		if !now.Before(ws.known[q].until) {
			unknown = append(unknown, q)
		}
	}
	if len(unknown) > 0 {
		if ws.failed = ws.ask(ctx, unknown); ws.failed != nil {
			ws.until = time.Now().Add(workersAge)
			return nil, nil, ws.failed
		}
	}
	idle = map[string]bool{}
	for _, q := range queues {
		idle[q] = !ws.known[q].some
	}
	return idle, ws.served, nil
}

// ask asks Kafka. Who hangs up meanwhile takes the answer from nobody else.
func (ws *workers) ask(ctx context.Context, queues []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workersWait)
	defer cancel()
	slices.Sort(queues)
	members, err := kafka.Workers(ctx, ws.admin, ws.names, slices.Compact(queues)...)
	if err != nil {
		return err
	}
	served, err := kafka.ServedQueues(ctx, ws.admin, ws.names)
	if err != nil {
		return err
	}
	ws.served = served
	for q, m := range members {
		some := len(m) > 0 || slices.Contains(served, q) // its group may be of the other protocol
		ws.known[q] = attendance{some, time.Now().Add(workersAge)}
	}
	return nil
}

// noTakers says of the attempts that no worker has answered for whether anybody takes from their queue. Where Kafka does
// not say, the planner's words stay.
func (g *Gateway) noTakers(ctx context.Context, all []Runnable, say func(i int, waitsFor string)) {
	limits := map[int]string{} // which the planner tells behind what is waited for
	var queues []string
	for i := range all {
		if limit, waits := strings.CutPrefix(all[i].WaitsFor, events.AwaitsWorker(all[i].Queue)); waits {
			limits[i] = limit
			queues = append(queues, all[i].Queue)
		}
	}
	if len(queues) == 0 {
		return
	}
	idle, served, err := g.workers.idle(ctx, queues)
	if err != nil {
		g.logger.Warn("cannot tell who takes from task queues", "error", err)
		return
	}
	for i, limit := range limits { // order: each is said of its own
		if idle[all[i].Queue] {
			say(i, nobodyTakes(&all[i], served)+limit)
		}
	}
}

// nobodyTakes is what an attempt waits for in a queue that no worker takes from.
func nobodyTakes(r *Runnable, served []string) string {
	s := fmt.Sprintf("a worker of the queue %q: no worker takes from it now, so none runs %s", r.Queue, r.Task)
	if best := spelling.Nearest(r.Queue, served); best != "" {
		s += fmt.Sprintf("; nearest queue that has workers: %q", best)
	}
	return s
}
