package equivalence

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/disk"
	"github.com/heddle-run/heddle/test/sim/workload"
)

var secret = events.Key("equivalence-secret")

// world is one deployment in the calling test's bubble.
type world struct {
	t        *testing.T
	plan     *workload.Plan
	faults   faultPlan
	cluster  *brokertest.Cluster
	client   *client.Client
	asked    *recorder // what the client asked and was told
	weather  *weather
	admin    *kadm.Client
	expiring sync.Mutex

	strangers *strangers // nil: there are none
	memory    *workload.TaskMemory
	logger    *slog.Logger
	began     time.Time

	chaos chan struct{} // closed: fates begin
	over  chan struct{} // closed: everybody stops in order
	wg    sync.WaitGroup

	mu    sync.Mutex
	disks []*disk.Disk // of planners, by slot

	clocks []*clock // of planners, by slot

	faulted map[string]int // what faults have done

	killedPlanners, killedWorkers int
}

func newWorld(t *testing.T, p *workload.Plan) *world {
	t.Helper()
	w := &world{
		t: t, plan: p, memory: workload.NewTaskMemory(), chaos: make(chan struct{}), over: make(chan struct{}), began: time.Now(),
		faulted: map[string]int{},
		logger:  slog.New(slog.DiscardHandler),
	}
	if os.Getenv("HEDDLE_TEST_LOG") != "" {
		w.logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	w.cluster = brokertest.StartInBubble(t, topics.Options{Partitions: p.Partitions, Queues: []string{"orders"}})
	w.admin = kadm.NewClient(w.cluster.Admin(t))
	w.asked = newRecorder(w.cluster.Topics)
	w.weather = &weather{w: w, d: workload.NewDice(p.Seed)}
	watched := w.cluster.Config
	watched.Dialer = w.newTripwire().DialContext
	watched.Hook = w.asked
	var err error
	if w.client, err = kafkaclient.New(t.Context(), kafkaclient.Options{Brokers: watched.Brokers, Prefix: watched.Prefix, Dialer: watched.Dialer, Hook: watched.Hook, Logger: watched.Logger}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		synctest.Wait()
		if err := w.client.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
	})
	return w
}

// start starts planners and workers; at least one of each.
func (w *world) start(f faultPlan) {
	w.faults = f
	for range max(1, len(f.planners)) {
		w.disks, w.clocks = append(w.disks, disk.New()), append(w.clocks, &clock{})
	}
	for slot := range w.disks {
		var fates []fate
		if slot < len(f.planners) {
			fates = f.planners[slot]
		}
		w.wg.Go(func() { w.planners(slot, fates) })
	}
	for slot := range w.plan.Workers {
		var fates []fate
		if slot < len(f.workers) {
			fates = f.workers[slot]
		}
		w.wg.Go(func() { w.workers(slot, fates) })
	}
}

// stop ends all processes in order.
func (w *world) stop() {
	synctest.Wait()
	close(w.over)
	w.wg.Wait()
}

func (w *world) disk(slot int) *disk.Disk {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.disks[slot]
}

func (w *world) setDisk(slot int, fs *disk.Disk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disks[slot] = fs
}

// patience bounds a run, in virtual time.
const patience = 30 * time.Minute

func (w *world) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// wait sleeps in virtual time; false when the world is over before.
func (w *world) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.over:
		return false
	}
}

// happened counts a fault that has done something.
func (w *world) happened(what string, details ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faulted[what]++
	w.logger.Info("TEST: happened", append([]any{"what", what, "after", time.Since(w.began)}, details...)...)
}

// killed counts a killed process.
func (w *world) killed(count *int, what string, slot, number int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*count++
	w.logger.Info("TEST: killed", "what", what, "slot", slot, "number", number, "after", time.Since(w.began))
}
