package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

func TestRestoreKeepsTheLatestOfEachKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, fs: vfs.NewCrashableMem(), rng: rand.New(rand.NewPCG(1, 2))}
		w.open()
		r := w.store.Restorer()
		r.limit = rapid.IntRange(1, 500).Draw(t, "bytes per table")
		want := contents{}
		for i := range rapid.IntRange(0, 100).Draw(t, "records") {
			k := rows.Key{Table: rows.Fact, Workflow: "w", A: rapid.Uint64Range(0, 20).Draw(t, "fact")}
			row, value := rows.Row(nil), []byte(nil)
			if rapid.IntRange(0, 3).Draw(t, "put") > 0 {
				row = &text{fmt.Sprint(i)}
				value = wire.Marshal(row)
			}
			want.set(k, row)
			if err := r.Put(k.Append(nil), value); err != nil {
				t.Fatal(err)
			}
		}
		metadata := Metadata{Cluster: "c", Topic: [16]byte{1}, Guard: mark(9), Applied: mark(4), Checkpoint: mark(9), Extra: []byte("x")}
		if err := r.Finish(metadata); err != nil {
			t.Fatal(err)
		}
		if err := w.store.Close(); err != nil {
			t.Fatal(err)
		}
		w.fs = w.fs.CrashClone(vfs.CrashCloneCfg{})
		w.open()
		defer w.store.Close()
		if got := w.dump(); !maps.Equal(got, want) {
			t.Fatalf("restored\n%q\nwant\n%q", got, want)
		}
		metadata.Complete = true
		if got := w.store.Metadata(); fmt.Sprint(got) != fmt.Sprint(metadata) {
			t.Fatalf("the metadata is\n%+v\nwant\n%+v", got, metadata)
		}
		if owners, _ := w.store.Dirty(); owners != 0 {
			t.Fatalf("%d owners are dirty after a restore", owners)
		}
	})
}

func TestStoreKilledDuringARestoreIsNotComplete(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs)
	r := s.Restorer()
	r.limit = 1
	for n := range uint64(20) {
		k := rows.Key{Table: rows.Fact, Workflow: "w", A: n}
		if err := r.Put(k.Append(nil), wire.Marshal(&text{"a"})); err != nil {
			t.Fatal(err)
		}
	}
	killed := open(t, fs.CrashClone(vfs.CrashCloneCfg{}))
	if killed.Metadata().Complete {
		t.Fatal("complete")
	}
	for _, s := range []*Store{s, killed} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRestoreRefusesKeysThatAreNeverInTheChangelog(t *testing.T) {
	s := open(t, vfs.NewMem())
	defer s.Close()
	for name, key := range map[string][]byte{
		"metadata":  metadataKey.Append(nil),
		"dirty log": dirtyKey(3).Append(nil),
		"no key":    {1, 2},
		"empty":     nil,
	} {
		if err := s.Restorer().Put(key, []byte("x")); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestWipedStoreIsEmpty(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	if err := s.Commit(mark(1), []Change{{Key: rows.Key{Table: rows.Fact, Workflow: "w"}, Row: &text{"a"}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Wipe(fs, "p0"); err != nil {
		t.Fatal(err)
	}
	s = open(t, fs)
	defer s.Close()
	if !s.Metadata().Applied.IsZero() {
		t.Fatalf("the metadata is %+v", s.Metadata())
	}
	if owners, _ := s.Dirty(); owners != 0 {
		t.Fatalf("%d owners are dirty", owners)
	}
}
