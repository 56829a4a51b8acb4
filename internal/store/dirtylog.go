package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// dirtyEntry is one row of the Dirty table: the keys that one batch changed, or
// what was carried over from old entries. Entries are numbered without gaps.
type dirtyEntry struct {
	Number uint64
	Parts  []dirtyPart
}

// dirtyPart is a run of changes of one owner's keys.
type dirtyPart struct {
	Owner string
	Since journal.Mark
	Keys  ops
}

// Fields implements wire.Message. The number is in the row's key.
func (e *dirtyEntry) Fields(c *wire.Codec) { wire.Repeated(c, 1, "parts", &e.Parts) }

// Fields implements wire.Message.
func (p *dirtyPart) Fields(c *wire.Codec) {
	wire.String(c, 1, "owner", &p.Owner)
	wire.Nested(c, 2, "since", &p.Since)
	c.Bytes(3, "keys", (*[]byte)(&p.Keys))
}

func dirtyKey(number uint64) rows.Key { return rows.Key{Table: rows.Dirty, A: number} }

func (e *dirtyEntry) key() rows.Key { return dirtyKey(e.Number) }

// dirtyLog accounts for the entries that are in the store.
type dirtyLog struct {
	first   uint64     // number of the oldest
	entries []logEntry // from first on
	bytes   int        // of all
	slack   int        // bytes that may be useless before anything is carried
	joins   []*dirtyGroup
}

// logEntry is an entry's size, and the groups whose first change is in it (if
// their entry still says so).
type logEntry struct {
	bytes  int
	groups []*dirtyGroup
}

func (l *dirtyLog) next() uint64 { return l.first + uint64(len(l.entries)) }

// push accounts for the entry numbered next; the groups of joins became dirty in it.
func (l *dirtyLog) push(bytes int) {
	l.entries = append(l.entries, logEntry{bytes: bytes, groups: l.joins})
	l.bytes += bytes
	l.joins = nil
}

// pop forgets the oldest entry.
func (l *dirtyLog) pop() {
	l.bytes -= l.entries[0].bytes
	l.entries[0] = logEntry{}
	l.entries = l.entries[1:]
	l.first++
}

// needed reports whether a dirty group has its first change in the oldest entry.
func (l *dirtyLog) needed() bool {
	for _, g := range l.entries[0].groups {
		if g.holds(l.first) {
			return true
		}
	}
	return false
}

func (g *dirtyGroup) holds(entry uint64) bool {
	return g.entry == entry || g.taken != nil && g.taken.entry == entry
}

const slackBytes = 64 << 10 // not worth carrying anything

// trim deletes the entries at the log's old end that no dirty group needs, and
// when what remains is mostly useless, carries what is still dirty in its old
// end over to a new entry: the log stays within twice of what is dirty, and
// that costs no more writing than the log itself did.
func (s *Store) trim(b *pebble.Batch) error {
	l := &s.dirty.log
	from := l.first
	carry := dirtyEntry{Number: l.next()}
	for len(l.entries) > 0 && l.first < carry.Number {
		if l.needed() {
			if l.bytes <= 2*s.dirty.bytes+l.slack {
				break
			}
			s.dirty.carry(&carry)
		}
		l.pop()
	}
	if err := s.deleteEntries(b, from, l.first); err != nil {
		return err
	}
	if len(carry.Parts) == 0 {
		l.joins = nil
		return nil
	}
	if err := s.put(b, carry.key(), &carry); err != nil {
		return err
	}
	l.push(len(s.value))
	return nil
}

// carry moves the groups that need the oldest entry to a new one, and what a snapshot
// in flight has taken from them: until that is written it is dirty like the rest (C2).
func (d *dirtySet) carry(to *dirtyEntry) {
	first := d.log.first
	for _, g := range d.log.entries[0].groups {
		if !g.holds(first) {
			continue
		}
		if t := g.taken; t != nil && t.entry == first {
			t.entry = to.Number
			to.Parts = append(to.Parts, dirtyPart{Owner: g.owner, Since: t.since, Keys: t.ops})
		}
		if g.entry == first {
			g.entry = to.Number
			to.Parts = append(to.Parts, dirtyPart{Owner: g.owner, Since: g.since, Keys: g.ops})
		}
		d.log.joins = append(d.log.joins, g)
	}
}

// deleteEntries deletes entries that were each written once: such deletions
// vanish with what they delete.
func (s *Store) deleteEntries(b *pebble.Batch, from, to uint64) error {
	for ; from < to; from++ {
		s.key = dirtyKey(from).Append(s.key[:0])
		if err := b.SingleDelete(s.key, nil); err != nil {
			return fmt.Errorf("deleting dirty entry %d: %w", from, err)
		}
	}
	return nil
}

// loadDirty makes the dirty set again. What the changelog has of it is not
// known, so all of it counts as changed.
func (s *Store) loadDirty() error {
	d := s.dirty
	var bad error
	err := s.Scan(rows.Key{Table: rows.Dirty}, func(k rows.Key, value []byte) bool {
		e := &dirtyEntry{Number: k.A}
		own := append([]byte(nil), value...)
		if bad = s.decode(k, own, e); bad == nil {
			bad = d.load(e, len(value))
		}
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("reading the dirty log: %w", err)
	}
	return nil
}

func (d *dirtySet) load(e *dirtyEntry, bytes int) error {
	if len(d.log.entries) == 0 {
		d.log.first = e.Number
	}
	if e.Number != d.log.next() {
		return fmt.Errorf("entry %d follows %d", e.Number, d.log.next()-1)
	}
	d.batch.Number = e.Number
	for i := range e.Parts {
		p := &e.Parts[i]
		if !p.Keys.valid() {
			return fmt.Errorf("entry %d is malformed", e.Number)
		}
		d.since = p.Since
		g := d.group(p.Owner)
		if p.Since.Before(g.since) {
			g.since = p.Since // carried over from before
		}
		d.bytes += len(p.Keys)
		g.ops = append(g.ops, p.Keys.demote()...)
		more := p.Keys.volume()
		g.volume += more
		d.volume += more
	}
	d.log.push(bytes)
	return nil
}
