package store

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/rows"
)

func TestFoldKeepsWhatTheChangelogMustLearn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list ops
		var written values
		newest := map[string]byte{}  // value by key
		kinds := map[string][]byte{} // by key, in order
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			k := rows.Key{Table: rows.Fact, Workflow: "w", A: rapid.Uint64Range(0, 9).Draw(t, "fact")}
			if rapid.Bool().Draw(t, "long") {
				k.Sub = strings.Repeat("x", 150)
			}
			kind := rapid.SampledFrom([]byte{changed, born, died}).Draw(t, "kind")
			full := string(k.Append(nil))
			newest[full] = rapid.Byte().Draw(t, "value")
			list = list.append(kind, 1, "w", k)
			written.add([]byte{newest[full]})
			kinds[full] = append(kinds[full], kind)
		}
		var kept, again values
		once, _ := list.fold(&written, nil, &kept, nil)
		if twice, _ := once.fold(&kept, nil, &again, nil); !bytes.Equal(once, twice) {
			t.Fatalf("folding again gives %x, not %x", twice, once)
		}
		got := map[string]byte{}
		for _, one := range once.unpack(nil) {
			full, err := fullKey(nil, "w", one.key)
			if err != nil {
				t.Fatal(err)
			}
			got[string(full)] = one.kind
			if v := kept.at(one.turn); len(v) != 1 || v[0] != newest[string(full)] {
				t.Fatalf("the value of %x is %x, not %x", full, v, newest[string(full)])
			}
		}
		for k, all := range kinds {
			kind, there := got[k]
			wasBorn, isDead := all[0] == born, all[len(all)-1] == died
			if there == (wasBorn && isDead) || there && ((kind == born) != wasBorn || (kind == died) != isDead) {
				t.Fatalf("changes %v of a key fold to %d, %v", all, kind, there)
			}
		}
	})
}

// checkDirtyKeys holds that malformed dirty keys are noticed.
func checkDirtyKeys(t *testing.T, b []byte) {
	t.Helper()
	if o := ops(b); o.valid() {
		if again := o.demote(); !again.valid() || len(again.unpack(nil)) != len(o.unpack(nil)) {
			t.Fatalf("%x comes back as %x", b, again)
		}
	}
}
