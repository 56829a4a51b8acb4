package rows_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

type note struct{ N uint64 }

func (n *note) Fields(c *wire.Codec) { wire.Int(c, 1, "n", &n.N) }

// model is what a Tx over a Memory should show.
type model map[rows.Key]uint64

func (m model) scan(from rows.Key) []string {
	var keys []rows.Key
	for k := range m {
		if rows.Within(from, k) && rows.Compare(k, from) >= 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, rows.Compare)
	var seen []string
	for _, k := range keys {
		seen = append(seen, fmt.Sprint(k, m[k]))
	}
	return seen
}

func scan(tx *rows.Tx, from rows.Key, limit int) []string {
	var seen []string
	rows.Scan(tx, from, func(k rows.Key, n *note) bool {
		seen = append(seen, fmt.Sprint(k, n.N))
		return len(seen) != limit
	})
	return seen
}

var fewKeys = rapid.Custom(func(t *rapid.T) rows.Key {
	return rows.Key{
		Table:    rapid.SampledFrom([]rows.Table{rows.Fact, rows.Timer}).Draw(t, "table"),
		Workflow: rapid.SampledFrom([]string{"v", "w"}).Draw(t, "workflow"),
		A:        rapid.Uint64Range(0, 12).Draw(t, "a"),
	}
})

func TestATxShowsItsOwnChangesOverTheSource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var mem rows.Memory
		want := model{}
		tx := rows.Begin(&mem)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			k := fewKeys.Draw(t, "key")
			switch rapid.SampledFrom([]string{"put", "create", "change", "delete", "commit", "get", "scan"}).Draw(t, "op") {
			case "put":
				n := rapid.Uint64Range(1, 99).Draw(t, "n")
				tx.Put(k, &note{n})
				want[k] = n
			case "create":
				if _, there := want[k]; !there && mem.Get(k, nil) == nil {
					tx.Create(k, &note{100})
					want[k] = 100
				}
			case "change":
				rows.Change[note](tx, k).N++
				want[k]++
			case "delete":
				tx.Delete(k)
				delete(want, k)
			case "commit":
				mem.Commit(tx.Writes())
				tx.Reset()
			case "get":
				n := rows.Get[note](tx, k)
				if v, there := want[k]; there != (n != nil) || there && n.N != v {
					t.Fatalf("%+v is %v, want %d, %v", k, n, v, there)
				}
			case "scan":
				if got := scan(tx, k, -1); !slices.Equal(got, want.scan(k)) {
					t.Fatalf("scan from %+v: %v, want %v", k, got, want.scan(k))
				}
			}
		}
		mem.Commit(tx.Writes())
		if len(mem.Keys()) != len(want) {
			t.Fatalf("committed %v, want %v", mem.Keys(), want)
		}
	})
}

func TestAScanStopsWhenItsVisitorSaysSo(t *testing.T) {
	var mem rows.Memory
	tx := rows.Begin(&mem)
	for a := range uint64(4) {
		tx.Put(rows.Key{Table: rows.Fact, Workflow: "w", A: 2 * a}, &note{a})
	}
	mem.Commit(tx.Writes())
	tx.Reset()
	for a := range uint64(4) {
		tx.Put(rows.Key{Table: rows.Fact, Workflow: "w", A: 2*a + 1}, &note{a})
	}
	for limit := 1; limit <= 8; limit++ {
		if got := scan(tx, rows.Key{Table: rows.Fact, Workflow: "w"}, limit); len(got) != limit {
			t.Errorf("a scan that stops after %d visits %v", limit, got)
		}
	}
}

func TestACommittedRowIsNotChangedByALaterTx(t *testing.T) {
	var mem rows.Memory
	k := rows.Key{Table: rows.Fact, Workflow: "w"}
	tx := rows.Begin(&mem)
	tx.Put(k, &note{1})
	mem.Commit(tx.Writes())
	tx.Reset()
	held := rows.Get[note](tx, k)
	rows.Change[note](tx, k).N = 2
	if held.N != 1 || rows.Get[note](tx, k).N != 2 {
		t.Fatalf("the committed row is %d, the changed one %d", held.N, rows.Get[note](tx, k).N)
	}
}

func TestARowThatComesAndGoesLeavesNoTrace(t *testing.T) {
	tx := rows.Begin(&rows.Memory{})
	for a := range uint64(40) {
		tx.Create(rows.Key{Table: rows.Fact, Workflow: "w", A: a}, &note{a})
	}
	for a := range uint64(40) {
		if a != 7 {
			tx.Delete(rows.Key{Table: rows.Fact, Workflow: "w", A: a})
		}
	}
	if w := tx.Writes(); len(w) != 1 || w[0].Key.A != 7 {
		t.Fatalf("writes = %v", w)
	}
	if n := rows.Get[note](tx, rows.Key{Table: rows.Fact, Workflow: "w", A: 7}); n == nil || n.N != 7 {
		t.Fatalf("the row that stays is %v", n)
	}
}
