package loop

import (
	"cmp"
	"maps"
	"slices"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

const (
	endedKept = 1000           // dispatch records that have ended and are kept, the newest; whole pages go
	endedPage = 64             // of them in a row
	endedFor  = 10 * 60 * 1000 // ms that they are kept for
)

// endedRow is a page of dispatch records that have ended, in the order in which they did.
//
// Versions of a page share their array, as those of an expiryPage do, unless Changed tells that it was copied.
type endedRow struct {
	Records []machine.Ended
	Changed uint32 // times that records of it were changed or removed
}

// Fields implements wire.Message.
func (r *endedRow) Fields(c *wire.Codec) {
	wire.Repeated(c, 1, "records", &r.Records)
	wire.Int(c, 2, "changed", &r.Changed)
}

// newest is when the last of a page ended, in Unix ms.
func (r *endedRow) newest() int64 {
	if len(r.Records) == 0 {
		return 0
	}
	return r.Records[len(r.Records)-1].At
}

func endedKey(page uint64) rows.Key { return rows.Key{Table: rows.Dispatch, A: page} }

// dispatches are the dispatch records that have ended, as the rows of the newest record say it: in memory, so
// that counting them and finding the oldest takes no look at rows. Open ones are attempts, which the watch has.
type dispatches struct {
	*Processor
	pages  []endedAt // oldest first
	total  int
	queues map[string]*outcomes
}

// endedAt is a page and its number.
type endedAt struct {
	number uint64
	row    *endedRow
}

// outcomes counts deliveries of a queue by what they came to.
type outcomes struct{ delivered, failed uint64 }

// fold adds what a record has ended, and forgets what there is no room or time for.
func (d *dispatches) fold(ended []machine.Ended, now int64) {
	added := len(ended)
	if added == 0 {
		return
	}
	page, room := uint64(0), 0
	if n := len(d.pages); n > 0 {
		page, room = d.pages[n-1].number, endedPage-len(d.pages[n-1].row.Records)
	}
	for len(ended) > 0 {
		if room <= 0 {
			page, room = page+1, endedPage
			d.tx.Create(endedKey(page), &endedRow{Records: make([]machine.Ended, 0, endedPage)})
		}
		n := min(room, len(ended))
		row := rows.Change[endedRow](d.tx, endedKey(page))
		row.Records = append(row.Records, ended[:n]...)
		room, ended = room-n, ended[n:]
	}
	d.forget(page, d.total+added, now)
}

// forget drops the oldest pages of records, of so many, but for the page that is added to.
func (d *dispatches) forget(page uint64, left int, now int64) {
	for i := range d.pages {
		old := &d.pages[i]
		if left -= len(old.row.Records); old.number == page || left < endedKept && old.row.newest() >= now-endedFor {
			return
		}
		d.tx.Delete(endedKey(old.number))
	}
}

// applied follows the rows of records as they are applied.
func (d *dispatches) applied(writes []rows.Write) {
	for i := range writes {
		if w := &writes[i]; w.Key.Table == rows.Dispatch {
			row, _ := w.Row.(*endedRow) // nil: it is deleted
			d.put(w.Key.A, row)
		}
	}
}

// put takes over a page, which is another version of one that is known, or behind all others; nil: it is gone.
func (d *dispatches) put(number uint64, row *endedRow) {
	i, known := slices.BinarySearchFunc(d.pages, number, func(at endedAt, n uint64) int { return cmp.Compare(at.number, n) })
	counted := 0
	if known {
		old := d.pages[i].row
		if row != nil && row.Changed == old.Changed {
			counted = len(old.Records)
		} else {
			d.count(old.Records, -1)
		}
	}
	switch {
	case row == nil && known:
		d.pages = slices.Delete(d.pages, i, i+1)
	case row == nil:
	case known:
		d.pages[i].row = row
	default:
		d.pages = slices.Insert(d.pages, i, endedAt{number, row})
	}
	if row != nil {
		d.count(row.Records[counted:], 1)
	}
}

// count adds records to the counts, or takes them out.
func (d *dispatches) count(records []machine.Ended, by int) {
	d.total += by * len(records)
	for i := range records {
		r := &records[i]
		q := d.queues[r.Queue]
		if q == nil {
			q = &outcomes{}
			d.queues[r.Queue] = q
		}
		if r.Failed {
			q.failed += uint64(by)
		} else {
			q.delivered += uint64(by)
		}
		if *q == (outcomes{}) {
			delete(d.queues, r.Queue)
		}
	}
}

// publish adds the counts of records that have ended and are not too old.
func (d *dispatches) publish(all *runtime.Backlog, now int64) {
	delivered, failed := map[string]uint64{}, map[string]uint64{}
	for name, q := range d.queues { // order: counted
		delivered[name], failed[name] = q.delivered, q.failed
	}
	for _, r := range d.overdue(now) {
		if r.Failed {
			failed[r.Queue]--
		} else {
			delivered[r.Queue]--
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.queues)) {
		all.Delivered += delivered[name]
		all.Failed += failed[name]
		q, open := all.Queues[name]
		if q.Delivered, q.Failed = delivered[name], failed[name]; q.Delivered+q.Failed == 0 || !open && len(all.Queues) >= maxQueues {
			continue
		}
		if all.Queues == nil {
			all.Queues = map[string]runtime.QueueBacklog{}
		}
		all.Queues[name] = q
	}
}

// overdue are the records that have no row any more once something is added: they are not shown.
func (d *dispatches) overdue(now int64) []*machine.Ended {
	var all []*machine.Ended
	for _, page := range d.pages {
		for i := range page.row.Records {
			r := &page.row.Records[i]
			if r.At >= now-endedFor {
				return all
			}
			all = append(all, r)
		}
	}
	return all
}

// find is the record of a request: its page among d.pages, and its place there; false: there is none.
func (d *dispatches) find(t events.Token) (page, place int, ok bool) {
	for page = len(d.pages) - 1; page >= 0; page-- {
		place = slices.IndexFunc(d.pages[page].row.Records, func(r machine.Ended) bool { return r.Token == t })
		if place >= 0 {
			return page, place, true
		}
	}
	return 0, 0, false
}

// change makes a copy of a page for changing.
func (d *dispatches) change(page int) *endedRow {
	row := rows.Change[endedRow](d.tx, endedKey(d.pages[page].number))
	if row.Changed == d.pages[page].row.Changed {
		row.Records = slices.Clone(row.Records)
		row.Changed++
	}
	return row
}

// remove takes records away that an operator has named. One that is gone already is passed over.
func (d *dispatches) remove(e *events.DispatchesRemoved) {
	for _, id := range e.IDs {
		t, err := events.ParseRequestID(id)
		if err != nil {
			continue // no record has it
		}
		if page, _, ok := d.find(t); ok {
			row := d.change(page)
			row.Records = slices.DeleteFunc(row.Records, func(r machine.Ended) bool { return r.Token == t })
		}
	}
}

// confirmedLate gives a record that has failed the reason of a late word.
func (d *dispatches) confirmedLate(e *events.DeliveryConfirmedLate) {
	t, err := events.ParseRequestID(e.ID)
	if err != nil {
		return
	}
	if page, place, ok := d.find(t); ok {
		d.change(page).Records[place].Reason = e.Reason
	}
}

// recall reads the records from the store.
func (d *dispatches) recall() error {
	return d.Stored.ScanTable(rows.Dispatch, func(k rows.Key, value []byte) bool {
		row := &endedRow{}
		if err := wire.Unmarshal(clone(value), row); err != nil {
			d.Fail(rows.Fault{Err: err})
			return false
		}
		d.put(k.A, row)
		return true
	})
}
