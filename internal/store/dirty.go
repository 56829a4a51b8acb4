package store

import (
	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/rows"
)

// Dirty is what is known of an owner's changes that are not in the changelog.
type Dirty struct {
	// Since is the mark of a record before the first of these changes: reading
	// the journal on from it finds them all.
	Since journal.Mark
	// Bytes is the size of their keys and rows, an estimate that is too high
	// rather than too low.
	Bytes int
}

// dirtySet knows what is in the store but not yet in the changelog, by owner
// (C2). It is made again from the dirty log when the store is opened.
type dirtySet struct {
	groups map[string]*dirtyGroup
	bytes  int // of all groups, in memory
	volume int // of all groups' keys and rows, those of a snapshot included
	log    dirtyLog
	kept   int // bytes of the groups' values

	spare    []values    // to be used again
	folding  []op        // room
	iterator dueIterator // of the snapshot in flight
	snapshot *Snapshot   // in flight
	live     bool        // the changelog is not ahead of the store

	// of the batch that is being written
	batch dirtyEntry
	since journal.Mark
	run   *dirtyGroup // the group of the last change
	start int         // where its changes of this run begin
}

// dirtyGroup is the part of one owner.
type dirtyGroup struct {
	owner  string
	since  journal.Mark
	entry  uint64 // the log entry with its first change; 0: none, not dirty
	ops    ops    // since the last snapshot
	values values // of ops; or none
	folded int    // length of ops when it was last folded
	volume int    // of ops
	least  int    // volume when it was last folded
	taken  *taken // what the snapshot in flight covers
}

// taken is what a snapshot took from a group, for the case that its checkpoint
// is not committed.
type taken struct {
	since  journal.Mark
	entry  uint64
	ops    ops
	values values // of ops; or none
	volume int    // of ops
}

// What is not worth folding: bytes of a list, and of the rows that it counts.
const (
	foldSlack   = 512
	volumeSlack = 64 << 10
)

// groupBytes is roughly what a group costs beside its changes.
const groupBytes = 200

func newDirtySet() *dirtySet {
	return &dirtySet{groups: map[string]*dirtyGroup{}, log: dirtyLog{first: 1, slack: slackBytes}}
}

// begin starts a batch whose records all come after since.
func (d *dirtySet) begin(since journal.Mark) {
	d.since = since
	d.batch.Number = d.log.next()
	d.batch.Parts = d.batch.Parts[:0]
	d.run = nil
}

// add notes one change of the batch; value is the encoded row.
func (d *dirtySet) add(c *Change, value []byte) {
	kind := byte(changed)
	switch {
	case c.Row == nil:
		kind = died
	case c.New && d.live:
		kind = born
	}
	d.note(kind, c.Key, value)
}

// note adds one change of a row; value is empty if it died.
func (d *dirtySet) note(kind byte, k rows.Key, value []byte) {
	owner := k.Owner()
	if d.run == nil || d.run.owner != owner {
		d.endRun()
		d.run = d.group(owner)
		d.start = len(d.run.ops)
	}
	g := d.run
	d.keep(g, value)
	before := len(g.ops)
	g.ops = g.ops.append(kind, len(value), g.owner, k)
	more := len(g.ops) - before + len(value)
	g.volume += more
	d.volume += more
}

// keepBytes bounds the values that are kept for the next snapshot.
const keepBytes = 4 << 20

// keep keeps the value of a group's next change, if it has kept all before.
func (d *dirtySet) keep(g *dirtyGroup, value []byte) {
	switch {
	case len(g.ops) > 0 && !g.values.some():
	case d.kept+len(value) > keepBytes:
		d.drop(g)
	default:
		d.kept += len(value)
		if !g.values.some() {
			g.values = d.room()
		}
		g.values.add(value)
	}
}

// room is for the values of one more group.
func (d *dirtySet) room() values {
	n := len(d.spare)
	if n == 0 {
		return values{make([]byte, 0, usualBytes), make([]uint32, 0, usualChanges)}
	}
	v := d.spare[n-1]
	d.spare = d.spare[:n-1]
	return v
}

// recycle takes values that nobody refers to any more.
func (d *dirtySet) recycle(v values) {
	if v.ends != nil && cap(v.bytes) <= mostBytes && len(d.spare) < mostSpare {
		d.spare = append(d.spare, values{v.bytes[:0], v.ends[:0]})
	}
}

// drop forgets a group's values: its snapshot reads them from the store.
func (d *dirtySet) drop(g *dirtyGroup) {
	d.kept -= len(g.values.bytes)
	g.values = values{}
}

// group is the owner's group, dirty from this batch on if it was not before.
func (d *dirtySet) group(owner string) *dirtyGroup {
	g := d.groups[owner]
	if g == nil {
		g = &dirtyGroup{owner: owner}
		d.groups[owner] = g
		d.bytes += groupBytes
	}
	if g.entry == 0 {
		g.since, g.entry = d.since, d.batch.Number
		d.log.joins = append(d.log.joins, g)
	}
	return g
}

// endRun puts what the last run of changes of one owner added into the entry.
func (d *dirtySet) endRun() {
	if d.run == nil {
		return
	}
	keys := d.run.ops[d.start:]
	d.bytes += len(keys)
	d.batch.Parts = append(d.batch.Parts, dirtyPart{Owner: d.run.owner, Since: d.since, Keys: keys})
}

// end is the log entry of the batch, or nil when it changes nothing; it is
// valid until the next begin.
func (d *dirtySet) end() *dirtyEntry {
	d.endRun()
	if len(d.batch.Parts) == 0 {
		return nil
	}
	return &d.batch
}

// wrote notes that the entry is in the log, with so many bytes. The lists of
// changes that have doubled are folded now: the entry no longer aliases them.
func (d *dirtySet) wrote(e *dirtyEntry, bytes int) {
	d.log.push(bytes)
	for i := range e.Parts {
		if g := d.groups[e.Parts[i].Owner]; g.bloated() {
			d.fold(g)
		}
	}
	clear(e.Parts)
}

// bloated reports whether a group may list many changes that no snapshot needs.
func (g *dirtyGroup) bloated() bool {
	return len(g.ops) > 2*g.folded+foldSlack || g.volume > 2*g.least+volumeSlack
}

// fold reduces what a group lists to what its snapshot needs.
func (d *dirtySet) fold(g *dirtyGroup) {
	d.bytes -= len(g.ops)
	d.volume -= g.volume
	d.kept -= len(g.values.bytes)
	old, kept := g.values, values{}
	if old.some() {
		kept = d.room()
	}
	g.ops, d.folding = g.ops.fold(&old, make(ops, 0, len(g.ops)), &kept, d.folding)
	g.values, g.folded = kept, len(g.ops)
	clear(d.folding)
	d.recycle(old)
	d.kept += len(g.values.bytes)
	d.bytes += len(g.ops)
	g.volume = g.ops.volume()
	g.least = g.volume
	d.volume += g.volume
}

// forget drops a group that is neither dirty nor in a snapshot.
func (d *dirtySet) forget(g *dirtyGroup) {
	if g.entry == 0 && g.taken == nil {
		delete(d.groups, g.owner)
		d.bytes -= groupBytes
	}
}

// Live reports whether the changelog is known not to be ahead of the store: from
// the moment that the owner has replayed the journal up to its own takeover,
// until it loses the partition. A new store is not live. Only while it is
// can rows that are born and die within a batch or between two checkpoints be
// left out of the changelog: before, a checkpoint that the store has lost may
// have written them.
func (s *Store) Live(live bool) {
	s.dirty.live = live
	if live {
		return
	}
	for _, g := range s.dirty.groups {
		s.dirty.bytes -= len(g.ops)
		s.dirty.drop(g) // of demoted changes it is not known which are deletions
		g.ops = g.ops.demote()
		s.dirty.bytes += len(g.ops)
	}
}

// Dirty says how many owners have changes that are not in the changelog, and
// the bytes of the keys and rows that these changed: an estimate that is too high
// rather than too low. What a snapshot in flight has taken counts until it is
// known to be written.
func (s *Store) Dirty() (owners, bytes int) { return len(s.dirty.groups), s.dirty.volume }
