package loop

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Destination is a log that effects go to. Partition is -1 where it is not known, as
// of a queue that has no topic.
type Destination struct {
	Topic     string
	Partition int32
	Of        int32 // partitions of the topic; 0: that is not known
	Latest    bool  // for summaries, of which the newest of a workflow is enough: nothing else waits among them
}

func (o Destination) String() string {
	if o.Partition < 0 {
		return o.Topic
	}
	return fmt.Sprintf("%s/%d", o.Topic, o.Partition)
}

func compareDestinations(a, b Destination) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Of, b.Of), compareBool(a.Latest, b.Latest))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// parked are the effects whose destinations take nothing for now. Nothing outside may
// stop the loop: they leave its bound, and memory but for their remains. The
// outbox and the open attempts have them.
type parked struct {
	*Processor
	lists map[Destination]*waitlist
	notes notes
}

// waitlist is what waits for one destination. While there is one, all that is released
// for its destination stands behind what waits: the order stays.
type waitlist struct {
	at     Destination
	back   []remains          // sent, and came back: they go first
	list   []remains          // in the order of their records
	newest map[string]remains // summaries in memory: the only one of its workflow that counts; nil: of other kinds
	enough int                // of a list of tasks, above which those that are over leave it
	beyond beyond             // what memory has no room for; not of tasks, whose attempts are in memory
	probe  *Outgoing          // finds out whether it takes something, where nothing else waits
	out    int                // sent, and not answered
	told   bool               // in the owner's logs
}

// remains is what is left in memory of an effect that was parked.
type remains struct {
	decided  events.Position
	number   uint64
	workflow string            // tasks and summaries
	runnable events.RunnableID // tasks
	kind     machine.EffectKind
}

func remainsOf(o *Outgoing) remains {
	left := remains{decided: o.Decided, number: o.Number, kind: o.Kind}
	if o.Kind == machine.TaskEffect || o.Kind == machine.StatusEffect {
		left.workflow, left.runnable = o.Key, o.Runnable
	}
	return left
}

func (r *remains) row() rows.Key {
	return rows.Key{Table: rows.Outbox, A: r.decided.Epoch, B: r.decided.Seq, C: r.number}
}

// before reports whether an effect was decided before another one.
func (r *remains) before(than *remains) bool {
	return r.decided.Before(than.decided) || r.decided == than.decided && r.number < than.number
}

// ordered puts remains into their place, which is mostly the last.
func ordered(list []remains, r remains) []remains {
	i := len(list)
	for i > 0 && r.before(&list[i-1]) {
		i--
	}
	return slices.Insert(list, i, r)
}

// queued puts an effect behind those that wait for its destination, if any do.
func (pk *parked) queued(o *Outgoing) bool {
	if len(pk.lists) == 0 {
		return false
	}
	l := pk.lists[pk.Log.Destination(o)]
	if l == nil {
		return false
	}
	pk.wait(l, o)
	return true
}

// park keeps the remains of an effect until its destination takes it.
func (pk *parked) park(o *Outgoing, at Destination, why error) {
	l := pk.lists[at]
	if l == nil {
		l = &waitlist{at: at}
		if pk.lists == nil {
			pk.lists = map[Destination]*waitlist{}
		}
		pk.lists[at] = l
	}
	if why != nil && !l.told {
		l.told = true
		pk.Logger.Warn("effects wait until their log takes them", "log", at.String(), "error", why)
	}
	pk.wait(l, o)
}

// wait adds an effect to a waitlist. What neither the outbox nor an attempt has is
// dropped but for one, as a crash would do: its client asks again.
func (pk *parked) wait(l *waitlist, o *Outgoing) {
	if !o.kept && o.Kind != machine.TaskEffect {
		l.probe = o
		return
	}
	o.parked = true
	left := remainsOf(o)
	if o.Kind == machine.StatusEffect && !pk.supersedes(l, &left) {
		return
	}
	if pk.isBeyond(l, o, &left) {
		pk.leaveBeyond(l, &left)
		return
	}
	switch {
	case o.Kind == machine.TaskEffect: // in any order
		l.list = append(l.list, left)
	case o.from == l:
		l.back = ordered(l.back, left)
	default:
		l.list = ordered(l.list, left)
	}
	if o.Kind == machine.StatusEffect {
		l.newest[left.workflow] = left
	}
	pk.Stats.Parked.Add(1)
	pk.thin(l)
}

// live is how many effects of a waitlist are in memory.
func (l *waitlist) live() int {
	if l.newest != nil {
		return len(l.newest)
	}
	return len(l.back) + len(l.list)
}

// supersedes reports whether no newer summary of its workflow is in the memory of a waitlist.
// One whose place another one takes is out: the newer record is behind its own.
func (pk *parked) supersedes(l *waitlist, left *remains) bool {
	if l.newest == nil {
		l.newest = map[string]remains{}
	}
	old, known := l.newest[left.workflow]
	if known && left.before(&old) {
		pk.acked = append(pk.acked, left.row())
		return false
	}
	if known {
		pk.acked = append(pk.acked, old.row())
		pk.outrun(l, &old)
	}
	return true
}

// outrun takes a summary that is in the memory of a waitlist for out, and reports whether it was
// there. Its remains stay in the list and count no more.
func (pk *parked) outrun(l *waitlist, left *remains) bool {
	if l.newest[left.workflow] != *left {
		return false
	}
	delete(l.newest, left.workflow)
	pk.Stats.Parked.Add(-1)
	return true
}

// thin removes from the list of a waitlist what counts no more, once it is about half of it:
// so it is as long as there are workflows in memory, or open attempts.
func (pk *parked) thin(l *waitlist) {
	switch {
	case l.newest != nil:
		if len(l.list) > 2*len(l.newest)+mostSpare {
			l.list = slices.DeleteFunc(l.list, func(r remains) bool { return l.newest[r.workflow] != r })
		}
	case len(l.list) > max(l.enough, mostSpare) && l.list[0].kind == machine.TaskEffect:
		n := len(l.list)
		l.list = slices.DeleteFunc(l.list, func(r remains) bool { return !pk.stillOpen(&r) })
		l.enough = 2 * len(l.list)
		pk.Stats.Parked.Add(int64(len(l.list) - n))
	}
}

// stillOpen reports whether the attempt of a task that is parked may still need it.
func (pk *parked) stillOpen(left *remains) bool {
	if pk.landed.Position.Before(left.decided) {
		return true // there will be one
	}
	at := pk.watch.open[attemptKey{left.workflow, left.runnable}]
	return at != nil && at.row.Decided == left.decided && !at.row.Notified
}

// overtaken forgets a summary that is parked: a newer one was sent.
func (pk *parked) overtaken(o *Outgoing) {
	left := remainsOf(o)
	pk.acked = append(pk.acked, left.row())
	l := pk.lists[pk.Log.Destination(o)]
	if l != nil && !pk.outrun(l, &left) && l.beyond.on && pk.forgetBeyond(&left) {
		pk.lessBeyond(l, 1)
	}
}

// next removes the oldest that waits and can be made again: its record is in the
// store, or, for a task, landed.
func (l *waitlist) next(p *Processor) (remains, bool) {
	from := &l.list
	if len(l.back) > 0 && (len(l.list) == 0 || l.back[0].before(&l.list[0])) {
		from = &l.back
	}
	if len(*from) == 0 && l.beyond.on {
		p.parked.fetch(l)
	}
	if len(*from) == 0 {
		return remains{}, false
	}
	left := (*from)[0]
	seen := p.stored.Position
	if left.kind == machine.TaskEffect {
		seen = p.landed.Position
	}
	if seen.Before(left.decided) {
		return remains{}, false
	}
	if *from = (*from)[1:]; len(*from) == 0 {
		*from = nil
	}
	return left, true
}

// RetryParked sends the first of each waitlist, about once a second: when it is
// taken, others follow.
func (p *Processor) RetryParked() {
	if len(p.parked.lists) == 0 {
		return
	}
	for _, l := range p.parked.waitlists() {
		if l.out == 0 {
			p.parked.unpark(l, 1)
		}
	}
}

// waitlists are those of all destinations, in order.
func (pk *parked) waitlists() []*waitlist {
	all := make([]*waitlist, 0, len(pk.lists))
	for _, l := range pk.lists { // order: sorted below
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *waitlist) int { return compareDestinations(a.at, b.at) })
	return all
}

// unpark sends so many of a waitlist, while there is room for them.
func (pk *parked) unpark(l *waitlist, most int) {
	for most > 0 && pk.fault == nil && pk.roomAgain() {
		left, ok := l.next(pk.Processor)
		if !ok {
			break
		}
		if l.newest == nil {
			pk.Stats.Parked.Add(-1)
		} else if !pk.outrun(l, &left) { // a newer one took its place
			continue
		}
		if o := pk.remadeOf(&left); o != nil {
			pk.unparkOne(l, o)
			most--
		}
	}
	if l.out > 0 || len(l.back) > 0 || len(l.list) > 0 || l.beyond.on {
		return
	}
	if l.probe != nil {
		pk.unparkOne(l, l.probe)
		l.probe = nil
		return
	}
	delete(pk.lists, l.at)
	if l.told {
		pk.Logger.Info("effects wait no longer", "log", l.at.String())
	}
}

func (pk *parked) unparkOne(l *waitlist, o *Outgoing) {
	o.from, o.sent = l, true
	l.out++
	pk.outside.letGo(o)
}

// roomAgain leaves half of the loop's bound to what is decided anew, but for one.
func (pk *parked) roomAgain() bool {
	return pk.outside.records < max(1, pk.Settings.InflightRecords/2) && pk.outside.bytes < pk.Settings.InflightBytes/2
}

// remadeOf makes an effect of its remains; nil if it is over by now.
func (pk *parked) remadeOf(left *remains) *Outgoing {
	if left.kind == machine.TaskEffect {
		if !pk.stillOpen(left) {
			return nil
		}
		k := attemptKey{left.workflow, left.runnable}
		o, _ := pk.watch.remake(k, pk.watch.open[k])
		return o
	}
	row := &outboxRow{}
	known, err := pk.Stored.Get(left.row(), row)
	if err != nil {
		pk.Fail(fmt.Errorf("reading the outbox: %w", err))
	}
	if !known {
		return nil
	}
	return outgoing(left.row(), row)
}

// LeaveParked ends the count of what waits: a successor finds it again.
func (p *Processor) LeaveParked() {
	for _, l := range p.parked.lists { // order: summed
		p.Stats.Parked.Add(-int64(l.live() + l.beyond.n))
	}
	p.parked.lists = nil
}

// answered takes the outcome of an effect that was taken from a waitlist: one that was
// taken makes room for two.
func (pk *parked) answered(l *waitlist, shut bool) {
	l.out--
	if !shut {
		pk.unpark(l, 2)
	}
}

// Waiting tells an operator what waits, by destination; beyond a few it counts.
func (p *Processor) Waiting() []string {
	notes := []string{}
	more, logs := 0, 0
	for _, l := range p.parked.waitlists() {
		n := l.live() + l.beyond.n + l.out
		switch {
		case n == 0:
		case len(notes) < mostNotes:
			notes = append(notes, fmt.Sprintf("%d effects wait for %s", n, l.at))
		default:
			more, logs = more+n, logs+1
		}
	}
	if logs > 0 {
		notes = append(notes, fmt.Sprintf("%d effects wait for %d more logs", more, logs))
	}
	return notes
}
