package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/rows"
)

// each visits all rows of a snapshot.
func each(sn *Snapshot, visit func(workflow string, key, value []byte) error) error {
	for {
		p, err := sn.Next(1 << 20)
		for _, row := range p.Rows {
			err = errors.Join(err, visit(row.Owner, row.Key, row.Value))
		}
		if err != nil || p.Owners == sn.Owners() && len(p.Rows) == 0 {
			return err
		}
	}
}

// end ends a snapshot, all of which is written or nothing of it.
func end(sn *Snapshot, committed bool) error {
	var err error
	if committed {
		err = sn.Wrote(sn.Owners())
	}
	return errors.Join(err, sn.Done())
}

// Parts are within their limit but for one row, hold whole owners or pieces of one,
// and give every row once, whatever the limit is; an owner can be given again.
func TestPartsOfASnapshotGiveEveryRowOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := Open(Options{Dir: "p0", FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		want := map[string]string{}
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 40), 1, 6).Draw(t, "rows of each owner") {
			for a := range n {
				k := rows.Key{Table: rows.Fact, Workflow: fmt.Sprint("w", i), A: uint64(a)}
				if i == 0 {
					k = rows.Key{Table: rows.Outbox, A: uint64(a)}
				}
				value := &text{string(bytes.Repeat([]byte{'x'}, rapid.IntRange(0, 200).Draw(t, "bytes")))}
				if err := s.Commit(mark(uint64(len(want)+1)), []Change{{Key: k, Row: value}}); err != nil {
					t.Fatal(err)
				}
				want[string(k.Append(nil))] = value.s
			}
		}
		if rapid.Bool().Draw(t, "read from the store") {
			for _, g := range s.dirty.groups {
				s.dirty.drop(g)
			}
		}
		sn := s.Due(func(string, Dirty) bool { return true })
		checkParts(t, sn, want)
		if err := end(sn, true); err != nil {
			t.Fatal(err)
		}
		if owners, size := s.Dirty(); owners != 0 || size != 0 {
			t.Fatalf("%d owners with %d bytes are dirty", owners, size)
		}
	})
}

func checkParts(t *rapid.T, sn *Snapshot, want map[string]string) {
	got := map[string]bool{}
	again := map[string]bool{}
	for {
		limit := rapid.IntRange(1, 2000).Draw(t, "limit")
		before := sn.given()
		p, err := sn.Next(limit)
		if err != nil {
			t.Fatal(err)
		}
		if p.Bytes > limit && len(p.Rows) > 1 {
			t.Fatalf("a part of %d rows has %d bytes, the limit is %d", len(p.Rows), p.Bytes, limit)
		}
		owners := map[string]bool{}
		for _, row := range p.Rows {
			owners[row.Owner] = true
			if got[string(row.Key)] {
				t.Fatalf("row %x is given twice", row.Key)
			}
			got[string(row.Key)] = true
		}
		if p.Piece && len(owners) != 1 {
			t.Fatalf("a piece is of %d owners", len(owners))
		}
		if p.Piece && p.Ends != (p.Owners > before) {
			t.Fatalf("a piece ends its owner: %v, but %d owners are whole after %d", p.Ends, p.Owners, before)
		}
		if owner := p.Owners - 1; p.Piece && p.Ends && !again[sn.groups[owner].owner] {
			again[sn.groups[owner].owner] = true
			sn.Again(owner)
			for k := range got {
				if key, err := rows.ParseKey([]byte(k)); err != nil || key.Owner() == sn.groups[owner].owner {
					delete(got, k)
				}
			}
			continue
		}
		if p.Owners == sn.Owners() {
			break
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows are given, want %d", len(got), len(want))
	}
	if !slices.IsSortedFunc(sn.groups, func(a, b *dirtyGroup) int { return bytes.Compare([]byte(a.owner), []byte(b.owner)) }) {
		t.Fatal("the owners are in no order")
	}
}

// What the rows of an owner take counts as dirty, once for each row that changes
// again and again, until it is known to be written.
func TestDirtyBytesAreThoseOfTheRows(t *testing.T) {
	s := open(t, vfs.NewMem())
	defer s.Close()
	k := rows.Key{Table: rows.Latest, Workflow: "w", A: 1}
	value := &text{string(make([]byte, 10_000))}
	for n := range uint64(500) {
		if err := s.Commit(mark(n+1), []Change{{Key: k, Row: value}}); err != nil {
			t.Fatal(err)
		}
	}
	_, size := s.Dirty()
	if size < 10_000 || size > 3*10_000+volumeSlack {
		t.Errorf("%d bytes are dirty of one row of 10,000", size)
	}
	sn := s.Due(func(string, Dirty) bool { return true })
	if _, taken := s.Dirty(); taken != size {
		t.Errorf("%d bytes are dirty, %d once they are taken", size, taken)
	}
	if err := sn.Done(); err != nil {
		t.Fatal(err)
	}
	if _, back := s.Dirty(); back < 10_000 {
		t.Errorf("%d bytes are dirty after a checkpoint that failed", back)
	}
}
