package workload

import (
	"fmt"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/partition/loop"
)

// MaxKills bounds how often workers may be killed in one run: the policies of a
// plan leave room for as many losses.
const MaxKills = 4

// Plan is everything that a seed decides: what runs, under which settings, and
// what is done to it.
type Plan struct {
	Seed       uint64
	Partitions int32
	Settings   loop.Settings
	Rate       int // bytes of the changelog that a checkpoint writes in a second; 0: any number
	Workers    int
	Slots      int
	Workflows  []*Workflow
}

// Workflow is one run of a random graph, with what its client does.
type Workflow struct {
	ID    string
	Graph *Graph
	Start int64 // the input that comes with the start
	More  []Deed
	Begin time.Duration
	Run   map[string]any  // options given with the run
	Rules Rules           // given with the start
	Lives []time.Duration // how long earlier runs under the same id live until they are deleted
	Named bool            // the definition is registered and started by name
}

// Deed is one thing that a client does, some time after the one before.
type Deed struct {
	After time.Duration
	What  deedKind
	Input int64
	Again time.Duration // sent again under the same id so much later; 0: once

	Signal   string // the name, of a signal whose key and value are Input
	By       string // who sends the signal; empty: nobody says
	Rules    Rules  // given with an input or a resume
	Replace  bool   // those of the input are its only ones
	ByOption bool   // the options say how long a stop drains
}

type deedKind int

// Kinds of deeds.
const (
	Feed deedKind = iota
	PauseAndResume
	StopAndResume
	Checkpoint
	Signal
)

// Inputs are all inputs of the workflow.
func (w *Workflow) Inputs() []int64 {
	all := []int64{w.Start}
	for _, m := range w.More {
		if m.What == Feed {
			all = append(all, m.Input)
		}
	}
	return all
}

// Work is how long the attempts of all workflows take that are meant to be made, one
// after the other. Those that faults cause are not among them.
func (p *Plan) Work() time.Duration {
	var all time.Duration
	for _, w := range p.Workflows {
		all += w.Graph.Expected(w.Inputs()).work
	}
	return all
}

// Calmly is the prefix of the ids of the undisturbed runs.
const Calmly = "calm-"

// Workflow is what runs under an id, calmly or not; nil if nothing does.
func (p *Plan) Workflow(id string) *Workflow {
	id = strings.TrimPrefix(id, Calmly)
	for _, w := range p.Workflows {
		if w.ID == id {
			return w
		}
	}
	return nil
}

// Component is a component of what runs under an id; nil if there is none.
func (p *Plan) Component(workflowID, component string) *Component {
	w := p.Workflow(workflowID)
	if w == nil {
		return nil
	}
	for _, c := range w.Graph.Components {
		if c.Name == component {
			return c
		}
	}
	return nil
}

// NewPlan draws what runs; faults draws what is done to it.
func NewPlan(seed uint64) *Plan {
	d := NewDice(seed)
	p := &Plan{Seed: seed, Partitions: int32(d.Between(1, 3)), Workers: d.Between(1, 2), Slots: Pick(d, 1, 2, 2, 3, 6)}
	p.Settings = loop.Settings{
		Lease:              Pick(d, 2*time.Second, 3*time.Second, 10*time.Second),
		CheckpointInterval: Pick(d, 50*time.Millisecond, 200*time.Millisecond, time.Second),
		LagRecords:         Pick(d, 0, uint64(20)),
		Silence:            12 * time.Second,
		Pending:            8 * time.Second,
		Ask:                8 * time.Second,
		NeverRunsTwice:     d.One(2),
	}
	if d.One(4) { // hardly any room to run ahead
		p.Settings.InflightRecords, p.Settings.QueueRecords = d.Between(1, 6), d.Between(1, 6)
	}
	if d.One(3) { // hardly any cache
		p.Settings.HotBytes = d.Between(1, 4) << 10 * int(p.Partitions)
	}
	for i := range d.Between(1, 3) {
		p.Workflows = append(p.Workflows, d.workflow(i))
	}
	for i, w := range p.Workflows {
		if states := NewDice(seed ^ 0x7374617465 ^ uint64(i)<<40); states.One(3) { // of their own, too
			states.accumulate(w)
		}
	}
	for i, w := range p.Workflows {
		saved := NewDice(seed ^ 0x66616c6c ^ uint64(i)<<50) // of their own, too
		saved.fall(w)
		saved.doubt(w)
	}
	for i, w := range p.Workflows {
		NewDice(seed ^ 0x77616974 ^ uint64(i)<<40).wait(w) // of their own: what arrives is the same
	}
	for i, w := range p.Workflows {
		NewDice(seed ^ 0x72656d696e64 ^ uint64(i)<<50).remind(w) // of their own, too
	}
	for i, w := range p.Workflows {
		NewDice(seed ^ 0x6e6f74696365 ^ uint64(i)<<50).notify(w) // of their own, too
	}
	for i, w := range p.Workflows {
		NewDice(seed ^ 0x72657461696e ^ uint64(i)<<50).retain(w) // of their own, too
	}
	calm := !p.doubts() || NewDice(seed^0x63616c6d).One(2) // what becomes of lost attempts is rare, and waits for permits make it rarer
	if d := NewDice(seed ^ 0x6b657973); d.One(2) && calm { // of its own, too
		for _, w := range p.Workflows {
			d.share(w)
		}
	}
	if d := NewDice(seed ^ 0x72617465); d.One(2) && calm { // likewise
		for _, w := range p.Workflows {
			d.pace(w)
		}
	}
	if d := NewDice(seed ^ 0x627265616b); d.One(2) && calm { // likewise
		for _, w := range p.Workflows {
			d.protect(w)
		}
	}
	dresser := NewDice(^seed) // of its own: what is told in other ways is the same work
	for _, w := range p.Workflows {
		if dresser.One(2) {
			dresser.dress(w)
		}
	}
	if few := NewDice(seed ^ 0x6173696465); few.One(2) { // hardly any room for what a log does not take; of its own, too
		p.Settings.ParkedRecords = few.Between(1, 4)
	}
	slow := NewDice(seed ^ 0x736c6f77) // of its own, for the same reason
	if slow.One(4) {
		p.Rate = Pick(slow, 2<<10, 4<<10, 16<<10)
	}
	if p.Rate > 0 || slow.One(4) { // many parts, and workflows that do not fit into one
		p.Settings.CheckpointBytes = slow.Between(1, 8) << 8
	}
	if slow.One(4) {
		p.Settings.DirtyBytes = slow.Between(4, 32) << 10
	}
	return p
}

func (d Dice) workflow(i int) *Workflow {
	halting := d.One(4)
	w := &Workflow{ID: fmt.Sprintf("w%d-%d", i, d.IntN(1000)), Start: int64(d.IntN(1000)), Begin: d.Millis(0, 500)}
	w.Graph = d.Graph(fmt.Sprintf("g%d", i), halting)
	w.Graph.options = map[string]any{
		"checkpoint": Pick[any](d, "every_cycle", "every_cycle", map[string]any{"every_n": d.Between(1, 4)}, "on_complete", "manual"),
	}
	if d.One(2) {
		w.Run = map[string]any{"max_concurrency": d.Between(1, 4)}
	}
	for d.One(3) {
		w.Lives = append(w.Lives, d.Millis(0, 4000))
	}
	w.Named = d.One(3)
	if d.One(4) {
		w.Graph.options["close"] = "on_idle"
		return w
	}
	for range d.Between(0, 3) {
		w.More = append(w.More, Deed{After: d.Millis(0, 2500), What: Feed, Input: int64(d.IntN(1000)), Again: d.Again()})
	}
	for range d.Between(0, 2) {
		kinds := []deedKind{Checkpoint, PauseAndResume, StopAndResume}
		if halting { // a halted workflow is neither paused nor resumed
			kinds = kinds[:1]
		}
		at := d.IntN(len(w.More) + 1)
		w.More = append(w.More[:at:at], append([]Deed{{After: d.Millis(0, 2500), What: Pick(d, kinds...), Again: d.Again()}}, w.More[at:]...)...)
	}
	return w
}

// Again is when a client sends a command a second time.
func (d Dice) Again() time.Duration {
	if d.One(3) {
		return d.Millis(1, 8000)
	}
	return 0
}
