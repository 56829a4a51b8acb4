package loop

import (
	"bytes"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// InputLog is how far one input log is read.
type InputLog struct {
	queue      []*kgo.Record // fetched, not decided
	Generation uint32        // of the log that is read
	Next       int64         // offset to decide next
	Start      int64         // of the log: below it its owner has deleted what was decided
	seeking    bool          // what comes was read before the log was sought to another place
	Last       uint32        // fingerprint of the record before next
	Durable    Reached       // what a checkpoint may commit
	readTo     int64         // Unix ms: everything stamped up to then is decided
	stamp      int64         // Unix ms: the newest stamp that a record of the journal has consumed
	Row        PositionRow   // as of the records that are written
	changed    bool          // the row, since it was written
	trouble    Trouble       // why it cannot be read
}

// Reached is how far an input log is read: the offset to read next, and what the
// record before it was, as fingerprint says; 0: that is not known.
type Reached struct {
	Next int64
	Last uint32
}

// Reached is how far the log is read.
func (l *InputLog) Reached() Reached { return Reached{l.Next, l.Last} }

// Fingerprint tells a record from another one that came into its place, also from
// an equal one that was stamped later.
func Fingerprint(digest uint32, stamp int64) uint32 { return digest ^ uint32(stamp) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// DigestOf identifies the content of an input record.
func DigestOf(r *kgo.Record) uint32 {
	return crc32.Update(crc32.Checksum(r.Key, castagnoli), castagnoli, r.Value)
}

// intake reads what has come and hands it to its decision: commands, reports of workers
// and messages, or what rejects them.
type intake struct{ *Processor }

// takeInputs decides some of the records that wait of one input log.
func (in *intake) takeInputs(s events.Source) bool {
	l := &in.inputs[s]
	n, bytes := 0, 0
	for n < len(l.queue) && n < inputBatch && in.room() {
		if s == events.FromInbox && n%expectMost == 0 {
			in.expect(l.queue[n:])
		}
		r := l.queue[n]
		l.queue[n] = nil
		n++
		bytes += len(r.Key) + len(r.Value)
		in.takeInput(s, l, r)
	}
	if n == 0 {
		return false
	}
	if l.queue = l.queue[n:]; len(l.queue) == 0 {
		l.queue = nil
	}
	in.Log.Took(s, n, bytes)
	in.reads.readOn()
	return true
}

// expectMost is how many inputs the state is told of at a time.
const expectMost = 64

// expect tells the state of the inputs that come next. Commands are not told:
// most are for workflows of which there is nothing yet.
func (in *intake) expect(queue []*kgo.Record) {
	var room [expectMost][]byte
	keys := room[:0]
	for _, r := range queue[:min(len(queue), expectMost)] {
		keys = append(keys, r.Key)
	}
	in.State.Expect(keys)
}

// takeInput decides one record. Its position advances whatever it is: nothing
// is read again for ever.
func (in *intake) takeInput(s events.Source, l *InputLog, r *kgo.Record) {
	if r.Topic == "" { // from here on it is what was sought, unless it was sought again since
		l.seeking = l.seeking && r.Offset != l.Next
		return
	}
	if l.seeking || r.Offset < l.Next {
		return
	}
	stamp, ok := in.stampOf(r)
	if !ok {
		return
	}
	l.Next, l.Last = r.Offset+1, 0
	if !r.Attrs.IsControl() {
		in.take(s, r, stamp)
	}
	l.readTo = max(l.readTo, stamp)
	in.caughtUp()
}

func (in *intake) take(s events.Source, r *kgo.Record, stamp int64) {
	l := &in.inputs[s]
	ref := events.InputRef{
		Source: s, Generation: l.Generation, Offset: r.Offset,
		LeaderEpoch: max(0, r.LeaderEpoch), Digest: DigestOf(r),
	}
	stamped := r.Timestamp.UnixMilli() // whatever counts: it tells which record was there
	l.Last = Fingerprint(ref.Digest, stamped)
	if s == events.FromCommands {
		ref.Stamp, ref.Ahead = stamp, stamped-stamp
		in.takeCommand(r, ref)
		return
	}
	in.takeInbox(r, ref)
}

// stampOf is when the broker got an input. Deciding stops when that is ahead of the
// owner's clock by more than is allowed, unless the clock was compared since
// then and is right: the broker that made such a stamp was wrong, and neither the
// ledger's window nor timers may run ahead with it.
func (in *intake) stampOf(r *kgo.Record) (stamp int64, ok bool) {
	stamp = r.Timestamp.UnixMilli()
	most := in.Settings.ClockError()
	ahead := stamp - in.clock.now
	if ahead <= most || in.Flaws.NoClock.On() {
		return stamp, true
	}
	if ahead > in.clock.excused {
		in.WrongClock(&ClockError{Ahead: ahead, Input: true})
		return 0, false
	}
	return in.clock.now, true
}

// foldPositions is what a record says about the positions of the input logs (J3); a
// *PositionError if that cannot be.
func (in *intake) foldPositions(rec *events.Record) error {
	if s := rec.Input.Source; s == events.FromCommands || s == events.FromInbox {
		in.inputs[s].Row.consume(&rec.Input)
		in.inputs[s].changed = true
	}
	for _, e := range rec.Events {
		if err := in.foldPosition(e, rec.Position); err != nil {
			return err
		}
	}
	return nil
}

func (in *intake) foldPosition(e events.Event, at events.Position) error {
	switch e := e.(type) {
	case *events.InputLogTruncated:
		return in.truncated(e, at)
	case *events.InputLost:
		return in.lostInputs(e, at)
	case *events.JournalLost: // what workers have said may be lost with it
		l := &in.inputs[events.FromInbox]
		l.jump(at, l.Row.Generation, l.Row.Next)
	case *events.ReplayRequested:
		if s, offset, ok := parseCursor(e.Cursor); ok {
			in.inputs[s].jump(at, in.inputs[s].Row.Generation, offset)
		}
	case *events.AuthorityAcquired:
		in.inputs[events.FromCommands].identify(e.CommandsID)
		in.inputs[events.FromInbox].identify(e.InboxID)
	}
	return nil
}

// jump moves a position by the word of the record at a place of the journal.
func (l *InputLog) jump(at events.Position, generation uint32, next int64) {
	l.Row.Generation, l.Row.Next, l.Row.Jumped = generation, next, at
	l.Row.LeaderEpoch, l.Row.Digest, l.Row.Remade = 0, 0, false
	l.changed = true
}

// identify notes which topic the log is of. The owner that finds another one may
// end before it has said what that means for the position.
func (l *InputLog) identify(id []byte) {
	l.Row.Remade = l.Row.Remade || len(l.Row.TopicID) > 0 && !bytes.Equal(l.Row.TopicID, id)
	l.Row.TopicID, l.changed = id, true
}

// consume moves a position behind a record, remembering a few older ones.
func (p *PositionRow) consume(ref *events.InputRef) {
	p.Next, p.LeaderEpoch, p.Digest = ref.Offset+1, ref.LeaderEpoch, ref.Digest
	newest := max(p.Time+p.Ahead, ref.Stamp+ref.Ahead)
	p.Time = max(p.Time, ref.Stamp)
	p.Ahead = newest - p.Time
	if n := len(p.Older); n > 0 && p.Older[n-1].Offset <= ref.Offset && ref.Offset/markEvery == p.Older[n-1].Offset/markEvery {
		return
	}
	older := p.Older[max(0, len(p.Older)+1-olderReads):]
	p.Older = append(older[:len(older):len(older)], ReadRecord{ref.Offset, ref.LeaderEpoch, ref.Digest})
}

// positionWrites are the rows of the positions that have changed.
func (in *intake) positionWrites() []rows.Write {
	var writes []rows.Write
	for _, s := range Inputs {
		if l := &in.inputs[s]; l.changed {
			row := l.Row
			writes = append(writes, rows.Write{Key: positionKey(s), Row: &row})
			l.changed = false
		}
	}
	return writes
}
