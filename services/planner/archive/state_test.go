package archive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// row is a row that is told from others.
type row struct{ n int }

func (*row) Fields(*wire.Codec) {}

// A state has what rows.Memory has, in the same order.
func TestStateIsWhatMemoryIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s state
		var want rows.Memory
		tables := rapid.SampledFrom([]rows.Table{rows.Fact, rows.Runnable, rows.Timer})
		for range rapid.IntRange(1, 40).Draw(t, "writes") {
			k := rows.Key{Table: tables.Draw(t, "table"), Workflow: "w", A: rapid.Uint64Range(0, 9).Draw(t, "number")}
			w := rows.Write{Key: k}
			if rapid.Bool().Draw(t, "put") {
				w.Row = &row{rapid.Int().Draw(t, "row")}
			}
			s.Commit([]rows.Write{w})
			want.Commit([]rows.Write{w})
		}
		from := rows.Key{Table: tables.Draw(t, "scanned"), Workflow: "w", A: rapid.Uint64Range(0, 9).Draw(t, "from")}
		list := func(src rows.Source) (all []rows.Write) {
			src.Scan(from, nil, func(k rows.Key, r rows.Row) bool { all = append(all, rows.Write{Key: k, Row: r}); return true })
			return all
		}
		if have, want := list(&s), list(&want); !slices.Equal(have, want) {
			t.Fatalf("a scan from %v visits %v, want %v", from, have, want)
		}
		var keys []rows.Key
		for k := range s.all {
			keys = append(keys, k)
		}
		if !slices.Equal(keys, want.Keys()) {
			t.Fatalf("the keys are %v, want %v", keys, want.Keys())
		}
	})
}
