package sim

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/calls"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// breach is a partition whose lease may not have excluded another: an operator
// broke it, or a clock was wrong. A deposed owner that does not know answers
// from records that are void. This is what may be promised all the same:
//
//   - A command that was answered counts: the next owner decides it again. What a
//     void record answered is undone: the record that counts may say something
//     else, and may come later than the answer.
//   - A read of a void record is undone too. A read of an owner that is deposed may
//     be an old one; that ends with the lease that was broken (E5).
//   - All else is as ever: a client that is told of a record that counts is told what is so,
//     of the newest state when it was asked for (E6).
type breach struct {
	lawful  map[events.Position]int64           // records that count, and the ticks at which they were written
	next    map[events.Position]int64           // the tick of the next record of the same workflow, if there is one
	void    map[string]map[events.Position]bool // records that do not count, by what they decide
	undone  map[events.Position]bool            // all of them
	answers map[string]answer                   // by what they decide: of the records that count, where there are void ones
	doubts  doubts
}

// answer is what a record answers, and the tick at which it was written.
type answer struct {
	reply events.Reply
	tick  int64
}

// doubt is from when to when a deposed owner may have answered, in ticks.
type doubt struct{ from, to int64 }

type doubts []doubt

// inLog is a record of a log of one topic: where it is.
type inLog struct {
	partition int32
	offset    int64
}

// noteTime notes when a command is written, and when a record of a journal is.
func (au *audit) noteTime(rec *kgo.Record, p int32, offset int64) {
	switch rec.Topic {
	case au.c.names.Journal():
		au.decided[inLog{p, offset}] = au.tick()
	case au.c.names.Commands():
		at := inLog{p, offset}
		au.commanded[at] = append(au.commanded[at], au.tick())
	}
}

// doubt notes that from now on the lease of a partition may not exclude another.
func (au *audit) doubt(p int32) {
	if au.doubtful[p] == 0 {
		au.doubtful[p] = au.tick()
	}
}

// auditBroken holds the histories of the workflows of broken partitions against
// what may be promised there.
func (au *audit) auditBroken(journals [][]*events.Record, decided map[string][]*events.Record) {
	held := calls.Quarantines(journals)
	for p := range journals {
		if au.doubtful[int32(p)] == 0 {
			continue
		}
		b, err := au.breach(int32(p), journals[p], decided)
		if err != nil {
			au.failAbout(ofPartition(int32(p)), "what counts of a broken lease: %w", err)
			continue
		}
		histories, errs := b.histories(au.callsOf(int32(p)))
		for _, err := range errs {
			au.failAbout(ofPartition(int32(p)), "a broken lease: %w", err)
		}
		for _, id := range sortedKeys(histories) {
			if isPool(id) {
				continue
			}
			if err := histories[id].Check(held[id]...); err != nil {
				au.failAbout(au.workflow(id), "linearizability, the lease was broken: %w", err)
			}
		}
	}
}

// callsOf are the answered calls of the workflows of a partition.
func (au *audit) callsOf(p int32) []*calls.Call {
	var all []*calls.Call
	for _, c := range au.calls {
		if _, order := partitionOf(c.Workflow); !order && c.Ended > 0 && au.partition(c.Workflow) == p {
			all = append(all, c)
		}
	}
	return all
}

// breach finds out what a broken partition's journal says.
func (au *audit) breach(p int32, records []*events.Record, decided map[string][]*events.Record) (*breach, error) {
	b := &breach{
		lawful: map[events.Position]int64{}, next: map[events.Position]int64{},
		void: map[string]map[events.Position]bool{}, undone: map[events.Position]bool{}, answers: map[string]answer{},
	}
	for _, rec := range records {
		b.lawful[rec.Position] = 0
	}
	newest := map[string]events.Position{}
	for _, k := range au.journal(p) {
		rec, err := journal.Decode(k)
		if err != nil {
			return nil, err
		}
		tick := au.decided[inLog{p, k.Offset}]
		if at, ok := b.lawful[rec.Position]; !ok || at > 0 {
			b.noteVoid(rec)
			continue
		}
		b.lawful[rec.Position] = tick
		if events.OfMachine(rec) {
			if before, ok := newest[rec.Workflow]; ok {
				b.next[before] = tick
			}
			newest[rec.Workflow] = rec.Position
		}
	}
	b.doubts = au.doubts(p, records, b.lawful)
	return b, b.answerAgain(p, records, decided)
}

func (b *breach) noteVoid(rec *events.Record) {
	key := rec.Workflow + "\x00" + rec.ID
	if b.void[key] == nil {
		b.void[key] = map[events.Position]bool{}
	}
	b.void[key][rec.Position], b.undone[rec.Position] = true, true
}

// doubts are when a deposed owner of a partition may have answered, by the ticks
// at which the records that count were written.
func (au *audit) doubts(p int32, records []*events.Record, written map[events.Position]int64) doubts {
	var all doubts
	for _, rec := range records {
		if tick := written[rec.Position]; rec.Position.Seq == 1 && au.doubtful[p] > 0 && tick > au.doubtful[p] {
			all = append(all, au.doubtSince(tick))
		}
	}
	return all
}

// doubtSince is the time after a takeover in which the older owner may answer: as
// long as its lease may last by a clock that is set back as far as they are.
func (au *audit) doubtSince(tick int64) doubt {
	to, until := tick, au.ticks[tick-1].Add(3*au.settings().Complete().Lease)
	for int(to) < len(au.ticks) && !au.ticks[to].After(until) {
		to++
	}
	return doubt{tick, to}
}

// answerAgain makes the answers of the records that count where there are void
// ones beside them.
func (b *breach) answerAgain(p int32, records []*events.Record, decided map[string][]*events.Record) error {
	asked := map[events.Position]bool{}
	for key := range b.void {
		for _, rec := range decided[key] {
			asked[rec.Position] = true
		}
	}
	if len(asked) == 0 {
		return nil
	}
	answers, err := workload.Answers(secret, p, records, asked)
	for key := range b.void {
		for _, rec := range decided[key] {
			if r, ok := answers[rec.Position]; ok {
				b.answers[key] = answer{r, b.lawful[rec.Position]}
			}
		}
	}
	return err
}

// histories are the calls by workflow, as far as they count, and what nobody may
// be told.
func (b *breach) histories(all []*calls.Call) (map[string]calls.History, []error) {
	var counting []*calls.Call
	var errs []error
	for _, c := range all {
		if !b.mayBeTold(c) {
			errs = append(errs, fmt.Errorf("the %s %q of %s was told of a record that does not count: %s", c.What, c.ID, c.Workflow, calls.ReplyText(c.Reply)))
		}
		if c = b.counts(c); c != nil {
			counting = append(counting, c)
		}
	}
	return calls.Histories(counting), errs
}

// mayBeTold reports whether the record that an answer tells of counts, or was the
// deposed owner's: of a command the one that decided it there, of a read any,
// while the broken lease may last.
func (b *breach) mayBeTold(c *calls.Call) bool {
	at, ok := c.Told()
	if !ok || b.lawful[at] > 0 {
		return true
	}
	if c.ID == "" {
		return b.doubts.about(c) && b.undone[at]
	}
	return b.void[decisionKey(c)][at] || c.Reply.Refusal != nil && b.void[withoutID(c)][at]
}

// withoutID is what the records of a workflow's commands are known by that have
// no id, like those of a command under another one's.
func withoutID(c *calls.Call) string { return c.Workflow + "\x00" }

// counts is a call as far as it counts; nil: it does not.
func (b *breach) counts(c *calls.Call) *calls.Call {
	at, ok := c.Told()
	ok = ok && b.lawful[at] > 0
	key := decisionKey(c)
	switch {
	case c.ID == "" && b.doubts.about(c):
		return b.read(c, at, ok)
	case c.ID == "" || ok || len(b.void[key]) == 0:
		return c
	}
	again, ok := b.answers[key]
	if !ok {
		return nil
	}
	told := *c // the record that counts is in the place of the void one
	told.Reply, told.Ended = again.reply, max(c.Began+1, again.tick)
	return &told
}

// read is a read that a deposed owner may have answered. An old one is of the
// time before the next record of its workflow.
func (b *breach) read(c *calls.Call, at events.Position, lawful bool) *calls.Call {
	if !lawful {
		return nil
	}
	next, ok := b.next[at]
	if !ok || c.Began < next {
		return c
	}
	told := *c
	told.Began, told.Ended = b.lawful[at], next
	return &told
}

// about reports whether a deposed owner may have answered a call.
func (d doubts) about(c *calls.Call) bool {
	return slices.ContainsFunc(d, func(d doubt) bool { return c.Ended > d.from && c.Began <= d.to })
}
