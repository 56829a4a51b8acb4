package loop

import (
	"log/slog"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Config is what a Processor works with.
type Config struct {
	Partition  int32
	Partitions int32        // of every topic keyed by workflow ID
	Applied    journal.Mark // of the newest record in the state
	Names      topics.Names
	Settings   Settings // complete
	Machine    machine.Machine
	State      State
	Workflows  Workflows  // of the state
	Stored     StoredRows // of the state
	Log        Log
	Clock      Clock
	Flaws      Flaws
	Stats      *Stats
	Observer   Observer // nil: nobody asks what happens
	Logger     *slog.Logger
}

// Processor is the lawful owner's loop as a deterministic step function: it
// starts no goroutine, reads no clock but its own, and does no I/O but through
// Log and State. One goroutine owns it.
type Processor struct {
	Config
	tx    *rows.Tx
	told  telling
	fault error // ends the tenure

	clock   clockState
	epoch   uint64
	seq     uint64       // of the newest appended record
	tail    journal.Mark // of the newest appended record; its offset is not known
	landed  journal.Mark // of the newest acknowledged record
	stored  journal.Mark // of the newest record in the store
	n       uint64       // of the newest record applied: the cache's count
	landedN uint64
	storedN uint64

	lease      runtime.Lease // as the journal and the renewals say
	staleSince int64         // Unix ms since when the lease is shown as stale; 0: it is not shown yet
	dismissed  bool          // an operator released the lease
	closing    bool          // no more inputs are taken
	rewound    string        // the cursor of an operator's replay request

	inputs    [Logs]InputLog
	intake    intake
	ledger    ledger
	inflight  queue
	outside   outside // effects that are released or wait for the lease
	parked    parked  // effects that nothing takes for now
	unwritten unwritten
	acked     []rows.Key // outbox rows to delete
	timers    timers
	watch     watch
	ended     dispatches
	reads     reads
	names     names
	due       map[string]struct{} // workflows due in the next checkpoint
	wanted    bool                // a checkpoint was asked for, of everything
	urgent    []func() bool       // engine inputs that wait for their turn
	hand      inHand
	done      counts

	quarantines []*quarantine // under way, one after the other
	doubt       *doubtRow     // nil: no journal was ever lost
	wary        wariness
	owing       []rows.Write // outbox rows of replayed records that are not written yet
	remembered  []*Outgoing  // of the flaw OriginalsInMemory
}

// Step takes what has arrived, releases what is acknowledged, decides what it
// can, and writes to the store what has come together. The error is a fault: the owner stops at once, drops
// what is in memory, and the partition is recovered under a new epoch.
func (p *Processor) Step(b *Batch) error {
	p.Tick()
	p.acknowledged(b)
	p.settle()
	p.arrived(b)
	p.decideAll()
	p.outlived()
	p.reads.answerQueries()
	p.writeWhenDue()
	p.Stats.add(&p.done)
	return p.fault
}

// arrived takes over what needs no decision by itself.
func (p *Processor) arrived(b *Batch) {
	for _, s := range Inputs {
		p.inputs[s].queue = append(p.inputs[s].queue, b.Inputs[s]...)
	}
	for _, q := range b.Queries {
		p.reads.ask(q)
	}
	for i := range b.Ends {
		p.reads.ends(&b.Ends[i])
	}
	for i := range b.Queues {
		p.watch.lookedUp(&b.Queues[i])
	}
	for _, r := range b.Broken {
		p.Fail(&BrokenLogError{Source: r.Source, Err: r.Err})
	}
	for _, r := range b.Renewed {
		p.Renew(r)
	}
	for _, f := range b.Commands {
		f(p)
	}
}

// decideAll gives timers, engine inputs and the input logs their turns while
// there is room to run ahead.
func (p *Processor) decideAll() {
	for p.room() && len(p.quarantines) > 0 {
		p.quarantineSome()
	}
	for p.room() {
		did := p.watch.sweep()
		did = p.timers.fireTimers() || did
		did = p.engineInputs() || did
		for _, s := range Inputs {
			did = p.intake.takeInputs(s) || did
		}
		if !did {
			break
		}
	}
	p.continueOne()
}

// room reports whether the loop may run further ahead of acknowledgements, and of
// checkpoints.
func (p *Processor) room() bool {
	return p.fault == nil && !p.closing && !p.clock.wrong && !p.LeaseOver() && !p.pressed(p.inflight.bytes) &&
		p.inflight.len()+p.outside.records < p.Settings.InflightRecords &&
		p.inflight.bytes+p.outside.bytes < p.Settings.InflightBytes
}

// pressed reports whether checkpoints are so far behind, with so many bytes more, that
// no input is taken until a part of one is out (C3).
func (p *Processor) pressed(more int) bool {
	return p.State.Dirty()+p.unwritten.bytes+more >= p.Settings.DirtyBytes
}

// Fail ends the tenure with its first fault; nil is none.
func (p *Processor) Fail(err error) {
	if p.fault == nil && err != nil {
		p.fault = err
	}
}

// engineInputs decides what the partition itself has found out. Each input is
// decided whole; one that says false waits for more room.
func (p *Processor) engineInputs() bool {
	did := false
	for len(p.urgent) > 0 && p.room() {
		f := p.urgent[0]
		p.urgent = p.urgent[1:]
		did = f() || did
	}
	return did
}

// Now is the reading of the clock at the begin of this step.
func (p *Processor) Now() time.Time { return p.clock.at }

// Err is what ends the tenure; nil: nothing does.
func (p *Processor) Err() error { return p.fault }

// Pardon forgets what ended the tenure, for an owner that has a last word to say.
func (p *Processor) Pardon() { p.fault = nil }

// Close ends the taking of inputs.
func (p *Processor) Close() { p.closing = true }

// Closing reports whether no input is taken any more.
func (p *Processor) Closing() bool { return p.closing }

// Position is of the newest appended record.
func (p *Processor) Position() events.Position {
	return events.Position{Epoch: p.epoch, Seq: p.seq}
}

// Landed is the mark of the newest acknowledged record.
func (p *Processor) Landed() journal.Mark { return p.landed }

// Written is the mark of the newest record in the store.
func (p *Processor) Written() journal.Mark { return p.stored }

// InFlight is how many records are appended and not acknowledged.
func (p *Processor) InFlight() int { return p.inflight.len() }

// Outside is how many effects are sent, or wait for the lease, and not answered.
func (p *Processor) Outside() int { return p.outside.records }

// Input is how far an input log is read; it is the processor's.
func (p *Processor) Input(s events.Source) *InputLog { return &p.inputs[s] }
