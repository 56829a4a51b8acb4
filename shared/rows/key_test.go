package rows_test

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/rows"
)

var tables = append(slices.Clip(rows.Own),
	rows.Timer, rows.Definition, rows.Pin, rows.Received, rows.ReceivedAge, rows.Entity, rows.Dispatch, rows.Position, rows.Ledger, rows.Expiry, rows.Outbox, rows.Runtime, rows.Metadata, rows.Dirty,
)

// Few different values, so that keys often agree in a part and differ behind it.
var (
	names   = rapid.OneOf(rapid.SampledFrom([]string{"", "a", "ab", "a\x01", "b", "\xff"}), rapid.StringMatching(`[A-Za-z0-9._:/-]{0,12}`))
	numbers = rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, 255, 256, 65535, 65536, 1<<63 - 1, 1 << 63, 1<<64 - 1}), rapid.Uint64())
	keys    = rapid.Custom(func(t *rapid.T) rows.Key {
		return rows.Key{
			Table:    rapid.SampledFrom(tables).Draw(t, "table"),
			Workflow: names.Draw(t, "workflow"),
			A:        numbers.Draw(t, "a"),
			B:        numbers.Draw(t, "b"),
			C:        numbers.Draw(t, "c"),
			Sub:      rapid.OneOf(names, rapid.Just("x\x00y")).Draw(t, "sub"),
		}
	})
)

func TestBytesOrderAsKeysDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := keys.Draw(t, "one"), keys.Draw(t, "other")
		if rapid.Bool().Draw(t, "same table") {
			b.Table = a.Table
		}
		got, want := bytes.Compare(a.Append(nil), b.Append(nil)), rows.Compare(a, b)
		if got != cmp.Compare(want, 0) {
			t.Fatalf("bytes of %+v and %+v order as %d, keys as %d", a, b, got, want)
		}
	})
}

func TestParseKeyIsTheInverseOfAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := keys.Draw(t, "key")
		back, err := rows.ParseKey(k.Append(nil))
		if err != nil || back != k {
			t.Fatalf("%+v came back as %+v, %v", k, back, err)
		}
	})
}

func TestAppendOfPutsTheWorkflowIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := keys.Draw(t, "key")
		without := k
		without.Workflow = ""
		got, err := rows.AppendOf([]byte("x"), k.Workflow, without.Append(nil))
		if want := k.Append([]byte("x")); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%+v is written %x, %v, want %x", k, got, err, want)
		}
	})
	for _, bad := range [][]byte{nil, {byte(rows.Fact)}, {byte(rows.Fact), 'a', 0}, {byte(rows.Timer)}, {byte(rows.Timer), 9}} {
		if got, err := rows.AppendOf(nil, "w", bad); err == nil {
			t.Errorf("%x became %x", bad, got)
		}
	}
}

func TestPrefixIsOfExactlyItsWorkflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := keys.Draw(t, "key")
		workflow := names.Draw(t, "workflow")
		k.Table = rows.Fact
		if got, want := bytes.HasPrefix(k.Append(nil), rows.Prefix(rows.Fact, workflow)), k.Workflow == workflow; got != want {
			t.Fatalf("%+v has the prefix of %q: %v", k, workflow, got)
		}
	})
}

func TestEachKeyHasOneEncoding(t *testing.T) {
	for _, b := range [][]byte{
		nil,
		{byte(rows.Fact)},
		{byte(rows.Fact), 'a'},    // the name does not end
		{byte(rows.Fact), 'a', 0}, // no numbers
		{byte(rows.Fact), 'a', 0, 9, 1, 1, 1, 1, 1}, // nine bytes
		{byte(rows.Fact), 'a', 0, 2, 1},             // cut short
		{byte(rows.Fact), 'a', 0, 2, 0, 1, 0, 0},    // 1 in two bytes
	} {
		if k, err := rows.ParseKey(b); err == nil {
			t.Errorf("%x is read as %+v", b, k)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(rows.Key{Table: rows.Fact, Workflow: "w", A: 1}.Append(nil))
	f.Add(rows.Key{Table: rows.Timer, Workflow: "w", A: 1, B: 300, C: 2}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := rows.ParseKey(b)
		if err == nil && !bytes.Equal(k.Append(nil), b) {
			t.Fatalf("%x is %+v, which is written %x", b, k, k.Append(nil))
		}
	})
}
