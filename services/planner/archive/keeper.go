package archive

import (
	"container/list"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// Settings say what a Keeper has written, and when.
type Settings struct {
	// All has living runs written too, as often as their checkpoint strategy says.
	All bool
	// Records and Age (ms) bound how far what is written may be behind the journal: a living run is written, too, when it
	// holds it back by more.
	Records int64
	Age     int64
	// Bytes bounds what the Keeper holds that is not written: above, what is oldest is written.
	Bytes int
	// Known bounds the runs that are remembered though nothing of them is to be written.
	Known int
}

// Complete fills in the defaults.
func (s Settings) Complete() Settings {
	def(&s.Records, 200_000)
	def(&s.Age, 600_000)
	def(&s.Bytes, 16<<20)
	def(&s.Known, 20_000)
	return s
}

func def[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Keeper follows one partition of a journal, and knows what of it is to be written. It belongs to one goroutine.
type Keeper struct {
	s    Settings
	runs map[string]*Log // by workflow: its newest run, as far as it is remembered

	dirty *list.List // of *Log: those with pending entries, that with the oldest first
	clean *list.List // of *Log: those without, that used longest ago first
	due   []*Log     // to be written now, in the order in which they became that
	bytes int        // of pending entries

	next        Place     // behind the last record
	time        int64     // of the last record
	recents     []*recent // from the oldest on
	recentBytes int
	definitions []Definition
	strategies  map[string]definition.Checkpoint // by digest; of definitions that were seen
}

// NewKeeper makes a Keeper that goes on from a place.
func NewKeeper(s Settings, from Place) *Keeper {
	return &Keeper{
		s: s.Complete(), runs: map[string]*Log{}, dirty: list.New(), clean: list.New(), next: from,
		strategies: map[string]definition.Checkpoint{},
	}
}

// Place is how far all is written: reading has to go on there.
func (k *Keeper) Place() Place {
	if f := k.dirty.Front(); f != nil {
		first := f.Value.(*Log).Pending[0]
		return Place{Offset: first.Offset, First: first.Position, Gap: k.next.Gap}
	}
	return k.next
}

// Gap is Place's.
func (k *Keeper) Gap() events.Position { return k.next.Gap }

// Pending says how much is not written yet.
func (k *Keeper) Pending() (runs, bytes int) { return k.dirty.Len(), k.bytes }

// Full reports whether more is held than may be between two writes.
func (k *Keeper) Full() bool { return k.bytes > k.s.Bytes+k.s.Bytes/4 }

// Definitions are those that came since they were asked for last. They have to be written before the logs that are due.
func (k *Keeper) Definitions() []Definition {
	all := k.definitions
	k.definitions = nil
	return all
}

// Take takes the next record that counts, with the bytes that the journal has of it. The Keeper keeps the record for a while.
func (k *Keeper) Take(offset int64, rec *events.Record, value []byte) {
	gap := k.next.Gap
	if !k.next.Known() {
		gap = rec.Position
	}
	k.next, k.time = Place{Offset: offset + 1, After: rec.Position, Gap: gap}, max(k.time, rec.Time)
	if events.CheckWorkflowID(rec.Workflow) != nil { // the partition's own, or of another entity
		return
	}
	from := 0
	for i, e := range rec.Events {
		switch e := e.(type) {
		case *events.DefinitionPinned:
			k.pinned(e)
		case *events.WorkflowDeleting, *events.WorkflowDeleted:
			k.add(offset, rec, rec.Events[from:i], nil)
			from = i + 1
			k.gone(rec)
		case *events.WorkflowStarted:
			k.begin(rec, e)
		case *events.WorkflowRestored:
			k.begin(rec, nil)
		}
	}
	if from > 0 {
		value = nil
	}
	k.add(offset, rec, rec.Events[from:], value)
}

// mostStrategies is how many definitions are remembered by their strategy. Runs of one that is not are written as often as by default.
const mostStrategies = 4096

func (k *Keeper) pinned(e *events.DefinitionPinned) {
	k.definitions = append(k.definitions, Definition{e.Digest, e.Canonical})
	if !k.s.All {
		return
	}
	d, err := definition.Parse(e.Canonical)
	if err != nil {
		return // of a later version of the language: it is written as often as by default
	}
	if g, err := definition.Compile(d); err == nil {
		if len(k.strategies) >= mostStrategies {
			clear(k.strategies)
		}
		k.strategies[e.Digest] = g.Options.Checkpoint
	}
}

// begin begins a run: what there was under its workflow's ID is over.
func (k *Keeper) begin(rec *events.Record, e *events.WorkflowStarted) {
	if old := k.runs[rec.Workflow]; old != nil {
		k.end(old)
	}
	l := &Log{Workflow: rec.Workflow, Run: rec.Position, Seen: rec.Position, Resolved: true, Status: statusRunning, Created: rec.Time}
	if e == nil { // which is restored: what it is only a fold says, and that is made at once
		l.Rests = true
		k.remember(l)
		return
	}
	l.Started = startedOf(e)
	l.strategy = k.strategies[e.Digest]
	if o, err := definition.ParseOptions(e.Options, "options"); len(e.Options) > 0 && err == nil && o.Checkpoint.Strategy != 0 {
		l.strategy = o.Checkpoint
	}
	k.remember(l)
}

// gone ends the run that is deleted: what comes of it from here on only takes its rows away.
func (k *Keeper) gone(rec *events.Record) {
	l := k.runs[rec.Workflow]
	if l == nil {
		l = k.strange(rec)
	}
	k.end(l)
}

// end says that nothing follows in a run, and that the deployment has it no more.
func (k *Keeper) end(l *Log) {
	if l.Deleted {
		return
	}
	l.Closed, l.Report, l.Deleted = true, false, true
	k.settle(l)
}

// strange begins to remember a run whose beginning is not at hand: the store has it, or nobody has.
func (k *Keeper) strange(rec *events.Record) *Log {
	l := &Log{Workflow: rec.Workflow, Seen: rec.Position, Updated: rec.Time}
	k.remember(l)
	return l
}

// remember makes a run its workflow's newest one.
func (k *Keeper) remember(l *Log) {
	if old := k.runs[l.Workflow]; old != nil {
		k.forget(old)
	}
	k.runs[l.Workflow] = l
	l.place = k.clean.PushBack(l)
	k.shrink()
}

// forget lets go of a run, but for what is to be written of it.
func (k *Keeper) forget(l *Log) {
	if k.runs[l.Workflow] == l {
		delete(k.runs, l.Workflow)
	}
	if l.held == 0 && l.place != nil {
		k.clean.Remove(l.place)
		l.place = nil
	}
}

// shrink forgets those that were used longest ago, if there are too many.
func (k *Keeper) shrink() {
	for k.clean.Len() > k.s.Known {
		k.forget(k.clean.Front().Value.(*Log))
	}
}

// add adds events of a record to the run that they are of. value is what the journal has of them; nil: it has more than them.
func (k *Keeper) add(offset int64, rec *events.Record, list []events.Event, value []byte) {
	l := k.runs[rec.Workflow]
	if l != nil && archived(list) {
		l.Report = false
	}
	if l != nil && l.Deleted || !tells(list) {
		return
	}
	if l == nil {
		l = k.strange(rec)
	}
	e := Entry{Offset: offset, Position: rec.Position, Time: rec.Time}
	if value != nil {
		e.Data = entryOf(value)
	} else {
		part := *rec
		part.Events = list
		rec, e.Data = &part, Encode(&part)
	}
	e.recent = k.recently(rec, len(e.Data))
	k.append(l, e)
	if l.take(list, k.s.All) {
		k.settle(l)
	}
}

// append adds an entry to what is to be written of a run.
func (k *Keeper) append(l *Log, e Entry) {
	if l.held == 0 {
		k.clean.Remove(l.place)
		l.place = k.dirty.PushBack(l)
	}
	l.Pending = append(l.Pending, e)
	l.Updated, l.taken = e.Time, e.Position
	l.held += len(e.Data)
	k.bytes += len(e.Data)
}

// settle has a run written now.
func (k *Keeper) settle(l *Log) {
	if !l.due {
		l.due = true
		k.due = append(k.due, l)
	}
}

// Due takes the runs that are to be written as of a time (Unix ms), in order. Each is given back by Written.
func (k *Keeper) Due(now int64) []*Log {
	now = max(now, k.time)
	bytes := k.bytes
	for e := k.dirty.Front(); e != nil; e = e.Next() {
		l := e.Value.(*Log)
		first := l.Pending[0]
		if bytes <= k.s.Bytes && k.next.Offset-first.Offset <= k.s.Records && now-first.Time <= k.s.Age {
			break
		}
		bytes -= l.held
		k.settle(l)
	}
	all := k.due
	k.due = nil
	return all
}

// Written takes note that all that was pending of a run is in the store, which has so many entries of it now. Who wrote
// it may have taken away of Pending what was there already.
func (k *Keeper) Written(l *Log, entries uint64) {
	if l.held > 0 {
		k.bytes -= l.held
		k.dirty.Remove(l.place)
		l.place = k.clean.PushBack(l)
	}
	l.Pending, l.held, l.At, l.due = nil, 0, entries, false
	if k.runs[l.Workflow] != l && l.place != nil {
		k.clean.Remove(l.place)
		l.place = nil
	}
	k.shrink()
}
