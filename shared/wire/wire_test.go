package wire_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/wire"
)

// inner and outer use every kind of field once.
type inner struct {
	Name string
	Neg  int32
}

func (m *inner) Fields(c *wire.Codec) {
	wire.String(c, 1, "name", &m.Name)
	wire.Int(c, 2, "neg", &m.Neg)
}

type outer struct {
	Small    uint8
	Big      uint64
	Signed   int64
	Flag     bool
	Text     string
	Blob     []byte
	Value    json.RawMessage
	One      inner
	Maybe    *inner
	Many     []inner
	Texts    []string
	Numbers  []uint32
	Negative []int64
	Tree     *outer
}

func (m *outer) Fields(c *wire.Codec) {
	wire.Int(c, 1, "small", &m.Small)
	wire.Int(c, 2, "big", &m.Big)
	wire.Int(c, 3, "signed", &m.Signed)
	c.Bool(4, "flag", &m.Flag)
	wire.String(c, 5, "text", &m.Text)
	c.Bytes(6, "blob", &m.Blob)
	c.JSON(7, "value", &m.Value)
	wire.Nested(c, 8, "one", &m.One)
	wire.Optional(c, 9, "maybe", &m.Maybe)
	wire.Repeated(c, 10, "many", &m.Many)
	c.Strings(11, "texts", &m.Texts)
	wire.Ints(c, 12, "numbers", &m.Numbers)
	wire.Ints(c, 13, "negative", &m.Negative)
	wire.Optional(c, 20, "tree", &m.Tree)
}

func outers(depth int) *rapid.Generator[*outer] {
	return rapid.Custom(func(t *rapid.T) *outer {
		in := rapid.Custom(func(t *rapid.T) inner {
			return inner{rapid.String().Draw(t, "name"), rapid.Int32().Draw(t, "neg")}
		})
		m := &outer{
			Small:    rapid.Uint8().Draw(t, "small"),
			Big:      rapid.Uint64().Draw(t, "big"),
			Signed:   rapid.Int64().Draw(t, "signed"),
			Flag:     rapid.Bool().Draw(t, "flag"),
			Text:     rapid.String().Draw(t, "text"),
			Blob:     rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "blob"),
			One:      in.Draw(t, "one"),
			Maybe:    rapid.Ptr(in, true).Draw(t, "maybe"),
			Many:     rapid.SliceOfN(in, 0, 4).Draw(t, "many"),
			Texts:    rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "texts"),
			Numbers:  rapid.SliceOfN(rapid.Uint32(), 0, 60).Draw(t, "numbers"),
			Negative: rapid.SliceOfN(rapid.Int64(), 0, 9).Draw(t, "negative"),
		}
		if depth > 0 && rapid.Bool().Draw(t, "nest") {
			m.Tree = outers(depth-1).Draw(t, "tree")
		}
		return m
	})
}

func TestDecodingIsTheInverseOfEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := outers(4).Draw(t, "message")
		b := wire.Marshal(m)
		var back outer
		if err := wire.Unmarshal(b, &back); err != nil {
			t.Fatalf("decoding %x: %v", b, err)
		}
		if again := wire.Marshal(&back); string(again) != string(b) {
			t.Fatalf("encoded again:\n%x\nwant\n%x", again, b)
		}
		if got, want := string(wire.ToJSON(&back)), string(wire.ToJSON(m)); got != want {
			t.Fatalf("decoded %s, want %s", got, want)
		}
	})
}

func TestAppendLeavesWhatStandsBefore(t *testing.T) {
	b := wire.Append([]byte("before"), &inner{Name: "x"})
	if string(b[:6]) != "before" || string(b[6:]) != "\x0a\x01x" {
		t.Fatalf("got %q", b)
	}
}

func TestZeroFieldsTakeNoBytes(t *testing.T) {
	if b := wire.Marshal(&outer{}); len(b) != 0 {
		t.Fatalf("an empty message has %d bytes: %x", len(b), b)
	}
	// An optional message that is there, but empty, is still there.
	b := wire.Marshal(&outer{Maybe: &inner{}})
	var back outer
	if err := wire.Unmarshal(b, &back); err != nil || back.Maybe == nil {
		t.Fatalf("back = %+v, %v", back, err)
	}
}

func TestLongMessagesKeepTheirLength(t *testing.T) {
	for _, n := range []int{1, 126, 127, 128, 129, 16383, 16384, 70000} {
		m := &outer{Tree: &outer{Maybe: &inner{Name: strings.Repeat("x", n)}}, Small: 1}
		var back outer
		if err := wire.Unmarshal(wire.Marshal(m), &back); err != nil || len(back.Tree.Maybe.Name) != n {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

func TestTextThatIsNotUTF8IsReplacedWhenEncodedAndRefusedWhenDecoded(t *testing.T) {
	var back inner
	if err := wire.Unmarshal(wire.Marshal(&inner{Name: "a\xffb"}), &back); err != nil || back.Name != "a\uFFFDb" {
		t.Fatalf("back = %q, %v", back.Name, err)
	}
	wantError(t, []byte("\x0a\x02\xff\xfe"), &inner{}, "field 1 is not UTF-8")
	wantError(t, protowire.AppendString(protowire.AppendTag(nil, 11, protowire.BytesType), "\xff"), &outer{}, "not UTF-8")
}

func TestDecodingIsStrict(t *testing.T) {
	tag := func(num protowire.Number, typ protowire.Type) []byte { return protowire.AppendTag(nil, num, typ) }
	cases := []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"unknown field", protowire.AppendVarint(tag(99, protowire.VarintType), 1), "unknown field 99"},
		{"unknown field of a nested message", append(tag(8, protowire.BytesType), 2, 3<<3, 0), "unknown field 3"},
		{"varint where a text is wanted", protowire.AppendVarint(tag(5, protowire.VarintType), 1), "wire type 0, want 2"},
		{"text where a varint is wanted", append(tag(1, protowire.BytesType), 0), "wire type 2, want 0"},
		{"fixed32", append(tag(1, protowire.Fixed32Type), 0, 0, 0, 0), "wire type 5"},
		{"fixed64", append(tag(1, protowire.Fixed64Type), 0, 0, 0, 0, 0, 0, 0, 0), "wire type 1, want 0"},
		{"group", tag(1, protowire.StartGroupType), "wire type 3"},
		{"number too large for its field", protowire.AppendVarint(tag(1, protowire.VarintType), 256), "256 is out of range"},
		{"packed number too large", append(tag(12, protowire.BytesType), append([]byte{5}, protowire.AppendVarint(nil, math.MaxUint32+1)...)...), "out of range"},
		{"packed number cut short", append(tag(12, protowire.BytesType), 1, 0x80), "unexpected EOF"},
		{"field number 0", []byte{0, 0}, "invalid field number"},
		{"length beyond the end", append(tag(5, protowire.BytesType), 9, 'x'), "unexpected EOF"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.bytes, &outer{}, c.want) })
	}
}

func wantError(t *testing.T, b []byte, m wire.Message, want string) {
	t.Helper()
	err := wire.Unmarshal(b, m)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("decoding %x: %v, want an error with %q", b, err, want)
	}
}

func TestTruncatedBytesNeverDecodeToTheSameMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := wire.Marshal(outers(2).Draw(t, "message"))
		if len(whole) == 0 {
			return
		}
		cut := whole[:rapid.IntRange(0, len(whole)-1).Draw(t, "cut")]
		var back outer
		if err := wire.Unmarshal(cut, &back); err == nil && string(wire.Marshal(&back)) == string(whole) {
			t.Fatalf("%x decodes as %x", cut, whole)
		}
	})
}

func TestNestingIsBounded(t *testing.T) {
	deep := &outer{Small: 1}
	for range 33 {
		deep = &outer{Tree: deep}
	}
	wantError(t, wire.Marshal(deep), &outer{}, "nested too deeply")
	var back outer
	if err := wire.Unmarshal(wire.Marshal(deep.Tree), &back); err != nil {
		t.Fatalf("32 levels: %v", err)
	}
}

func TestJSONShowsEveryField(t *testing.T) {
	m := &outer{
		Small: 7, Big: math.MaxUint64, Signed: -1, Flag: true, Text: "a\"b", Blob: []byte{0xff}, Value: json.RawMessage(`{"n":1.0}`),
		One: inner{Neg: -1}, Maybe: &inner{}, Many: []inner{{Name: "x"}}, Texts: []string{"a", ""}, Numbers: []uint32{0, 1}, Negative: []int64{-5},
	}
	want := `{"small":7,"big":18446744073709551615,"signed":-1,"flag":true,"text":"a\"b","blob":"_w","value":{"n":1.0},` +
		`"one":{"neg":-1},"maybe":{},"many":[{"name":"x"}],"texts":["a",""],"numbers":[0,1],"negative":[-5]}`
	if got := string(wire.ToJSON(m)); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	if got := string(wire.ToJSON(&outer{Value: json.RawMessage(`{"cut`)})); got != `{"value":"{\"cut"}` {
		t.Fatalf("a value that is not JSON: %s", got)
	}
}

func TestTextShowsWhatNobodyKnows(t *testing.T) {
	m := &outer{Small: 7, Signed: -1, Text: "a\"b", Blob: []byte{0xff, 0}, One: inner{Neg: -1}, Many: []inner{{Name: "x"}, {Name: strings.Repeat("y", 300)}}}
	want := `{1: 7, 3: 18446744073709551615, 5: "a\"b", 6: ff00, 8: {2: 18446744073709551615}, 10: {1: "x"}, 10: {1: "` + strings.Repeat("y", 240) + `"… (300 bytes)}}`
	if got := wire.Text(wire.Marshal(m)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := wire.Text([]byte{0x0a, 0x80}); got != "0a80" {
		t.Errorf("half a field is shown as %s", got)
	}
}

func TestSchemaNamesEveryField(t *testing.T) {
	schema := wire.Schema("test.v1", &outer{})
	for _, line := range []string{
		"package test.v1;", "message inner {", "uint64 small = 1;", "int64 signed = 3;", "bytes value = 7;",
		"repeated inner many = 10;", "repeated string texts = 11;", "repeated int64 negative = 13;", "outer tree = 20;",
	} {
		if !strings.Contains(schema, line) {
			t.Errorf("no %q in\n%s", line, schema)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(wire.Marshal(&outer{Small: 1, Text: "x", Many: []inner{{}}, Numbers: []uint32{1, 2}}))
	f.Add([]byte{0x0a, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		var m outer
		if wire.Unmarshal(b, &m) != nil {
			return
		}
		var back outer
		canonical := wire.Marshal(&m)
		if err := wire.Unmarshal(canonical, &back); err != nil {
			t.Fatalf("own bytes %x of %x: %v", canonical, b, err)
		}
		if again := wire.Marshal(&back); string(again) != string(canonical) {
			t.Fatalf("%x encodes again as %x", canonical, again)
		}
	})
}
