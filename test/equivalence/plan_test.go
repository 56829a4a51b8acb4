package equivalence

import (
	"fmt"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/partition"
)

// plan is everything that a seed decides: what runs, under which settings, and
// what is done to it.
type plan struct {
	seed       uint64
	partitions int32
	settings   partition.Settings
	takers     int
	slots      int
	workflows  []*workflow
}

// workflow is one run of a random graph, with what its client does.
type workflow struct {
	id    string
	graph *graph
	start int64 // the input that comes with the start
	more  []deed
	begin time.Duration
	run   map[string]any  // options given with the run
	lives []time.Duration // how long earlier runs under the same id live until they are deleted
	named bool            // the definition is registered and started by name
}

// deed is one thing that a client does, some time after the one before.
type deed struct {
	after time.Duration
	what  deedKind
	input int64
	again time.Duration // sent again under the same id so much later; 0: once
}

type deedKind int

const (
	feed deedKind = iota
	pauseAndResume
	stopAndResume
	checkpoint
)

// inputs are all inputs of the workflow.
func (wf *workflow) inputs() []int64 {
	all := []int64{wf.start}
	for _, m := range wf.more {
		if m.what == feed {
			all = append(all, m.input)
		}
	}
	return all
}

// calmly is the prefix of the ids of the undisturbed runs.
const calmly = "calm-"

// workflow is what runs under an id, calmly or not; nil if nothing does.
func (p *plan) workflow(id string) *workflow {
	id = strings.TrimPrefix(id, calmly)
	for _, w := range p.workflows {
		if w.id == id {
			return w
		}
	}
	return nil
}

func (p *plan) component(workflowID, component string) *component {
	w := p.workflow(workflowID)
	if w == nil {
		return nil
	}
	for _, c := range w.graph.components {
		if c.name == component {
			return c
		}
	}
	return nil
}

// newPlan draws what runs; faults draws what is done to it.
func newPlan(seed uint64) *plan {
	d := newDice(seed)
	p := &plan{seed: seed, partitions: int32(d.between(1, 3)), takers: d.between(1, 2), slots: pick(d, 1, 2, 2, 3, 6)}
	p.settings = partition.Settings{
		Lease:              pick(d, 2*time.Second, 3*time.Second, 10*time.Second),
		CheckpointInterval: pick(d, 50*time.Millisecond, 200*time.Millisecond, time.Second),
		LagRecords:         pick(d, 0, uint64(20)),
		Silence:            12 * time.Second,
		Pending:            8 * time.Second,
		NeverRunsTwice:     d.one(2),
	}
	if d.one(4) { // hardly any room to run ahead
		p.settings.InflightRecords, p.settings.QueueRecords = d.between(1, 6), d.between(1, 6)
	}
	if d.one(3) { // hardly any cache
		p.settings.CacheBytes = d.between(1, 4) << 10
	}
	for i := range d.between(1, 3) {
		p.workflows = append(p.workflows, d.workflow(i))
	}
	return p
}

func (d dice) workflow(i int) *workflow {
	halting := d.one(4)
	w := &workflow{id: fmt.Sprintf("w%d-%d", i, d.IntN(1000)), start: int64(d.IntN(1000)), begin: d.millis(0, 500)}
	w.graph = d.graph(fmt.Sprintf("g%d", i), halting)
	w.graph.options = map[string]any{
		"checkpoint": pick[any](d, "every_cycle", "every_cycle", map[string]any{"every_n": d.between(1, 4)}, "on_complete", "manual"),
	}
	if d.one(2) {
		w.run = map[string]any{"max_concurrency": d.between(1, 4)}
	}
	for d.one(3) {
		w.lives = append(w.lives, d.millis(0, 4000))
	}
	w.named = d.one(3)
	if d.one(4) {
		w.graph.options["close"] = "on_idle"
		return w
	}
	for range d.between(0, 3) {
		w.more = append(w.more, deed{after: d.millis(0, 2500), what: feed, input: int64(d.IntN(1000)), again: d.again()})
	}
	for range d.between(0, 2) {
		kinds := []deedKind{checkpoint, pauseAndResume, stopAndResume}
		if halting { // a halted workflow is neither paused nor resumed
			kinds = kinds[:1]
		}
		at := d.IntN(len(w.more) + 1)
		w.more = append(w.more[:at:at], append([]deed{{after: d.millis(0, 2500), what: pick(d, kinds...), again: d.again()}}, w.more[at:]...)...)
	}
	return w
}

// again is when a client sends a command a second time.
func (d dice) again() time.Duration {
	if d.one(3) {
		return d.millis(1, 8000)
	}
	return 0
}
