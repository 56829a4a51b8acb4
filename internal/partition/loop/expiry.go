package loop

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

const (
	expireEvery = 64  // records between two looks at old entries
	expireMost  = 512 // entries forgotten at one look, and those of the last page

	// expirySpan is the time that a page of entries is about, as a power of two
	// of ms, and expiryBlock the records that may add to it, as a power of two.
	// The numbers are in keys of rows: they stay.
	expirySpan  = 6
	expiryBlock = 7
)

// expiryPage names the ledger entries of a span of time and a block of records.
// Under load a row for each entry would cost more than the entry, and a row for all
// of a span would have no bound.
//
// Versions of a page share their array: one is made from the other by appending
// only, and there is no way back to an older one.
type expiryPage struct{ Entries []entryName }

// Fields implements wire.Message.
func (e *expiryPage) Fields(c *wire.Codec) { wire.Repeated(c, 1, "entries", &e.Entries) }

func (e *expiryPage) add(workflow, id string) {
	e.Entries = append(e.Entries, entryName{workflow, id})
}

// entryName is what the key of a ledger entry says.
type entryName struct{ Workflow, ID string }

// Fields implements wire.Message.
func (n *entryName) Fields(c *wire.Codec) {
	wire.String(c, 1, "workflow", &n.Workflow)
	wire.String(c, 2, "id", &n.ID)
}

// expiryKey is the page of a time (Unix ms) to which a record adds.
func expiryKey(ages rows.Table, at int64, rec events.Position) rows.Key {
	return rows.Key{Table: ages, A: expirySpanOf(at), B: rec.Seq >> expiryBlock}
}

// expirySpanOf is the span of time that a time (Unix ms) is in.
func expirySpanOf(at int64) uint64 { return uint64(at) >> expirySpan }

// forget drops entries that nothing can need any more, at a place in the order of
// records, so that replay forgets the same ones. The oldest command that may be
// decided is a window behind the newest stamp, the oldest entry that it may repeat
// is another window behind that. A message that was written a window before a record
// comes late, and its entry is kept for another one.
func (lg *ledger) forget(rec *events.Record) {
	if rec.Position.Seq%expireEvery != 0 {
		return
	}
	window := lg.Settings.Window.Milliseconds()
	lg.forgetOf(rows.Expiry, lg.horizon()-window, ledgerKey)
	lg.forgetOf(rows.ReceivedAge, rec.Time-2*window, receivedKey)
}

// forgetOf drops entries of a kind that are older than a time (Unix ms).
func (lg *ledger) forgetOf(ages rows.Table, oldest int64, key func(id, name string) rows.Key) {
	if oldest <= 0 {
		return
	}
	type aged struct {
		key  rows.Key
		page *expiryPage
	}
	var old []aged
	names := 0
	rows.Scan(lg.tx, rows.Key{Table: ages}, func(k rows.Key, page *expiryPage) bool {
		if k.A >= expirySpanOf(oldest) || names >= expireMost {
			return false
		}
		old = append(old, aged{k, page})
		names += len(page.Entries)
		return true
	})
	for _, o := range old {
		lg.forgetPage(o.key, o.page, key)
	}
}

// forgetPage drops a page and the entries that it names, unless they were made
// again since.
func (lg *ledger) forgetPage(k rows.Key, page *expiryPage, key func(id, name string) rows.Key) {
	lg.tx.Delete(k)
	for _, n := range page.Entries {
		at := key(n.Workflow, n.ID)
		if e := rows.Get[ledgerRow](lg.tx, at); e != nil && expirySpanOf(e.Time) == k.A {
			lg.tx.Delete(at)
		}
	}
}
