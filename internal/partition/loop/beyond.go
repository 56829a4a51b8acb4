package loop

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// beyond is the part of a waitlist for which memory has no room: of it there are two keys
// and a number. Its effects stand in the outbox, whatever the length of the outage,
// and are read from there in the order of their records when those in memory are out.
// While there are any, all that is decided later stays beyond memory too.
type beyond struct {
	on       bool
	from, to rows.Key // of the outbox; those between may be of other waitlists
	n        int
}

const (
	readAtOnce = 1024    // effects of a waitlist that are read from the outbox together
	scanAtOnce = 1 << 14 // rows of the outbox that are looked at for them: there are other waitlists
	notesKept  = 1024    // of beyondKey, until they are written
)

// beyondKey is where it stands which summary of a workflow is the newest one beyond
// memory: an older one leaves the outbox, so that it holds one of each workflow. No
// effect has such a key, as no record has epoch 0. They are of a tenure.
func beyondKey(workflow string) rows.Key {
	return rows.Key{Table: rows.Outbox, Workflow: workflow}
}

// firstEffect is where the effects in the outbox begin.
var firstEffect = rows.Key{Table: rows.Outbox, A: 1}

// beyondRow names a row of the outbox.
type beyondRow struct{ Epoch, Seq, Number uint64 }

// Fields implements wire.Message.
func (r *beyondRow) Fields(c *wire.Codec) {
	wire.Int(c, 1, "epoch", &r.Epoch)
	wire.Int(c, 2, "seq", &r.Seq)
	wire.Int(c, 3, "number", &r.Number)
}

func (r *beyondRow) row() rows.Key {
	return rows.Key{Table: rows.Outbox, A: r.Epoch, B: r.Seq, C: r.Number}
}

// notes are changes of rows of beyondKey that are not written yet.
type notes struct {
	writes []rows.Write
	at     map[string]int // of a workflow
}

func (n *notes) put(workflow string, row *beyondRow) {
	w := rows.Write{Key: beyondKey(workflow)}
	if row != nil {
		w.Row = row
	}
	if i, known := n.at[workflow]; known {
		n.writes[i] = w
		return
	}
	if n.at == nil {
		n.at = map[string]int{}
	}
	n.at[workflow] = len(n.writes)
	n.writes = append(n.writes, w)
}

// take removes them, to be written.
func (n *notes) take() []rows.Write {
	all := n.writes
	*n = notes{}
	return all
}

// isBeyond reports whether an effect is to stay in the outbox alone. What comes back out of
// its turn is older and belongs to what is in memory: it was on its way, which is bounded.
func (pk *parked) isBeyond(l *waitlist, o *Outgoing, left *remains) bool {
	switch {
	case left.kind == machine.TaskEffect:
		return false
	case l.beyond.on:
		return rows.Compare(left.row(), l.beyond.from) >= 0
	case o.from == l:
		return false
	}
	last := len(l.list) - 1
	return l.live() >= pk.Settings.ParkedRecords && (last < 0 || l.list[last].before(left))
}

// leaveBeyond leaves an effect in the outbox.
func (pk *parked) leaveBeyond(l *waitlist, left *remains) {
	b, k := &l.beyond, left.row()
	if left.kind != machine.StatusEffect || pk.newestBeyond(left) {
		b.n++
		pk.Stats.Parked.Add(1)
	}
	if !b.on {
		b.on, b.from, b.to = true, k, k
	}
	if rows.Compare(b.to, k) < 0 {
		b.to = k
	}
}

// newestBeyond makes a summary the newest of its workflow beyond memory, and reports
// whether it is the first. The older one of the two is out.
func (pk *parked) newestBeyond(left *remains) bool {
	k := left.row()
	old := pk.beyondOf(left.workflow)
	if old != nil {
		switch c := rows.Compare(k, old.row()); {
		case c == 0:
			return false
		case c < 0:
			pk.acked = append(pk.acked, k)
			return false
		}
		pk.acked = append(pk.acked, old.row())
	}
	pk.noteBeyond(left.workflow, &beyondRow{left.decided.Epoch, left.decided.Seq, left.number})
	return old == nil
}

// beyondOf is the newest summary of a workflow beyond memory; nil: there is none.
func (pk *parked) beyondOf(workflow string) *beyondRow {
	if i, noted := pk.notes.at[workflow]; noted {
		row, _ := pk.notes.writes[i].Row.(*beyondRow)
		return row
	}
	row := &beyondRow{}
	known, err := pk.Stored.Get(beyondKey(workflow), row)
	pk.Fail(err)
	if !known {
		return nil
	}
	return row
}

// noteBeyond changes a row of beyondKey with the next batch, or now if they are many.
func (pk *parked) noteBeyond(workflow string, row *beyondRow) {
	pk.notes.put(workflow, row)
	if len(pk.notes.writes) >= notesKept {
		pk.Fail(pk.State.Commit(pk.storedN, pk.stored, pk.notes.take()))
	}
}

// forgetBeyond takes a summary for one that is not beyond memory any more, and reports
// whether it was.
func (pk *parked) forgetBeyond(left *remains) bool {
	old := pk.beyondOf(left.workflow)
	if old == nil || old.row() != left.row() {
		return false
	}
	pk.noteBeyond(left.workflow, nil)
	return true
}

func (pk *parked) lessBeyond(l *waitlist, n int) {
	n = min(n, l.beyond.n)
	l.beyond.n -= n
	pk.Stats.Parked.Add(-int64(n))
}

// forgetNotes drops what an earlier tenure has left under beyondKey: what is in
// the outbox is met again, and noted again where there is no room for it.
func (pk *parked) forgetNotes() error {
	for from := beyondKey(""); ; {
		var old []rows.Write
		err := pk.Stored.Scan(from, func(k rows.Key, _ []byte) bool {
			if rows.Compare(k, firstEffect) < 0 {
				old = append(old, rows.Write{Key: k})
			}
			return len(old) < notesKept && rows.Compare(k, firstEffect) < 0
		})
		if err != nil || len(old) == 0 {
			return err
		}
		if err := pk.State.Commit(pk.storedN, pk.stored, old); err != nil {
			return err
		}
		from = old[len(old)-1].Key
	}
}

// fetch reads the next effects of a waitlist from the outbox, which is as it should be first.
func (pk *parked) fetch(l *waitlist) {
	if pk.Write(); pk.fault != nil {
		return
	}
	found, err := pk.scanBeyond(l)
	if err != nil {
		pk.Fail(err)
		return
	}
	pk.lessBeyond(l, len(found))
	for i := range found {
		left := &found[i]
		if left.kind == machine.StatusEffect {
			pk.forgetBeyond(left)
			if !pk.supersedes(l, left) {
				continue
			}
			l.newest[left.workflow] = *left
		}
		l.list = ordered(l.list, *left)
		pk.Stats.Parked.Add(1)
	}
}

// scanBeyond finds the next effects of a waitlist in the outbox, and moves its begin behind
// them. It ends what is beyond if there are no more. Records that the store does not
// have yet have their effects behind all others.
func (pk *parked) scanBeyond(l *waitlist) (found []remains, err error) {
	b := &l.beyond
	seen, most, more := 0, min(readAtOnce, pk.Settings.ParkedRecords), false
	var bad error
	err = pk.Stored.Scan(b.from, func(k rows.Key, value []byte) bool {
		if over := rows.Compare(k, b.to) > 0; over || seen == scanAtOnce || len(found) == most {
			b.from, more = k, !over
			return false
		}
		seen++
		row := &outboxRow{}
		if bad = wire.Unmarshal(value, row); bad != nil {
			return false
		}
		if o := outgoing(k, row); row.Original == nil && pk.belongs(l, o) {
			found = append(found, remainsOf(o))
		}
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case bad != nil:
		return nil, bad
	case more:
	case pk.stored.Position.Before(events.Position{Epoch: b.to.A, Seq: b.to.B}):
		if k := (rows.Key{Table: rows.Outbox, A: pk.stored.Position.Epoch, B: pk.stored.Position.Seq + 1}); rows.Compare(b.from, k) < 0 {
			b.from = k
		}
	default:
		pk.lessBeyond(l, b.n-len(found))
		b.on = false
	}
	return found, nil
}

// belongs reports whether an effect in the outbox is of a waitlist. If its topic has got another
// number of partitions since, it may be: sent twice is better than not at all.
func (pk *parked) belongs(l *waitlist, o *Outgoing) bool {
	at := pk.Log.Destination(o)
	return at == l.at || at.Topic == l.at.Topic && at.Of != l.at.Of
}
