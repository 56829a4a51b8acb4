package sim

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"

	"github.com/heddle-run/heddle/test/sim/workload"
)

// Options of a run. The same options give the same run.
type Options struct {
	Seed     uint64
	Steps    int      // with faults; then everything has to come to rest
	Faults   []Fault  // nil: drawn from the seed
	Kinds    []string // of faults that are drawn; nil: all
	Absent   []string // workflows of the plan, or meddling, whose clients do not come
	Flaws    loop.Flaws
	Embedded bool         // over the embedded broker, instead of a model of brokers
	Keep     bool         // the history's lines
	Logger   *slog.Logger // of the planners; nil: silent
}

// Result is what a run came to.
type Result struct {
	Seed    uint64
	Err     error  // what must not be, or nil
	Kind    string // of the first that Err has: the same whatever the names and numbers
	Steps   int
	Took    time.Duration // of virtual time
	Faults  []Fault       // that were meant
	Absent  []string      // whose clients did not come
	Digest  uint64        // of the history and of all records that were written
	About   Subject       // of Err, as far as it is known
	History []Line        // if kept
	Covered workload.Coverage

	Key      events.Key      // that sealed the tokens in the journals
	Journals [][]*kgo.Record // by partition, as their readers see them: void records are among them
}

// Run runs a seed to its end.
func Run(o Options) Result {
	var r Result
	bubble(func() { r = run(o) })
	return r
}

// bubble runs f in virtual time. testing/synctest wants a test for that; nothing
// else of it is used.
func bubble(f func()) {
	var t testing.T
	synctest.Test(&t, func(*testing.T) { f() })
}

// mostSteps bounds the time in which everything has to come to rest that has hardly
// any work to do. A second of work gets workSteps more, which is about what it has
// where the work is long: 56 to 99 were measured. Short and busy runs had up to 230,
// for which mostSteps has room.
const (
	mostSteps = 40_000
	workSteps = 100
)

// restsWithin bounds the steps in which the plan has to come to rest: its attempts
// may have to be made one after the other.
func (w *world) restsWithin() int {
	return mostSteps + int(w.plan.Work()*workSteps/time.Second)
}

func run(o Options) Result {
	w := play(&o)
	return Result{
		Seed: o.Seed, Err: w.err(), Kind: w.kind, About: w.about, Steps: w.step, Took: time.Since(w.began), Faults: o.Faults, Absent: o.Absent,
		Digest: w.history.digest(), History: w.history.lines, Covered: w.coverage,
		Key: secret, Journals: w.left,
	}
}

// play plays the world of a seed. It draws the faults.
func play(o *Options) *world {
	if o.Faults == nil {
		o.Faults = o.drawFaults()
	}
	w := newWorld(*o)
	w.play()
	return w
}

// play plays a world to its end and audits it.
func (w *world) play() {
	o := &w.o
	w.start()
	for w.step = 0; w.step < o.Steps && !w.failed(); w.step++ {
		w.inject()
		w.advance()
	}
	w.calmDown()
	most := o.Steps + w.restsWithin()
	for synctest.Wait(); w.busy() && !w.failed(); synctest.Wait() { // what the last move set off may be the end
		if w.step++; w.step > most {
			w.fail("after %v nothing comes to rest: %s", time.Since(w.began), w.stuck())
		}
		w.advance()
	}
	if !w.failed() && o.Seed%anotherDay == 0 {
		w.nextDay()
	}
	if !w.failed() {
		w.audit.audit()
	}
	w.left = w.journals()
	w.shutdown()
}

// journals are the journals as they have become, with what has expired.
func (w *world) journals() [][]*kgo.Record {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	all := make([][]*kgo.Record, w.plan.Partitions)
	for p := range all {
		all[p] = w.audit.journal(int32(p))
	}
	return all
}

// stuck tells who still waits.
func (w *world) stuck() string {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	text := fmt.Sprintf("%d at work", w.running)
	for _, s := range w.c.sorted() {
		text += fmt.Sprintf("\n  %s: %d", s.name, len(s.asked))
	}
	for slot, n := range w.nodes {
		if n == nil {
			continue
		}
		for p, o := range n.owners {
			text += fmt.Sprintf("\n  n%d p%d: %+v", slot, p, o.Status())
		}
	}
	return text
}
