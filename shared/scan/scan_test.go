package scan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/scan"
)

var texts = []string{
	``, ` `, `null`, `true`, `false`, `nul`, `nulll`, `0`, `-0`, `01`, `1.`, `1.5e+10`, `1e`, `1E-3`, `-`, `.5`, `+1`,
	`""`, `"a`, `"\u00e9\n\"\\"`, `"\u00g0"`, `"\x"`, `"\`, "\"\x1f\"", "\"\xff\x7f\"", `"é"`,
	`{}`, `[]`, `[1,2,[3]]`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1}`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1"b":2}`, `{"a":[{"b":{}}],"c":""}`,
	` { "a" : [ 1 , "<&>" ] } `, `[}`, `{]`, `[1}`, `1 2`, `{"a":1}{`, "\v1", `{"a":1{"b":2}`, `{"a":1}}`, "\"\u2028\"",
	strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 64) + "1" + strings.Repeat("]", 64),
	strings.Repeat("[", 65) + "1" + strings.Repeat("]", 65), strings.Repeat(`{"a":[`, 33) + "1" + strings.Repeat("]}", 33),
	`999999999999999999`, `1000000000000000000`,
}

// same says what this package says of a text and encoding/json says too.
func same(t *testing.T, text []byte) {
	t.Helper()
	valid := json.Valid(text)
	if scan.Valid(text) != valid {
		t.Errorf("%q: valid is %v", text, valid)
	}
	var want bytes.Buffer
	wantErr := json.Compact(&want, text)
	got, err := scan.Compact(text)
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%q: got %q, %v, want %q, %v", text, got, err, want.Bytes(), wantErr)
	}
	if s := scan.Of(text); s.Value() != nil && s.Done() && !valid {
		t.Errorf("%q is a value", text)
	}
	if s := scan.Of(text); s.Natural("") > 0 && s.Done() {
		var n uint64
		if s = scan.Of(text); json.Unmarshal(text, &n) != nil || s.Natural("") != n {
			t.Errorf("%q is no %d", text, n)
		}
	}
	sameText(t, text)
	sameMembers(t, text)
}

func sameText(t *testing.T, text []byte) {
	t.Helper()
	s := scan.Of(text)
	got := s.Text("")
	if !s.Done() {
		return
	}
	var want string
	if err := json.Unmarshal(text, &want); err != nil || want != string(got) {
		t.Errorf("%q: got %q, want %q, %v", text, got, want, err)
	}
}

func sameMembers(t *testing.T, text []byte) {
	t.Helper()
	got := map[string]json.RawMessage{}
	s := scan.Of(text)
	s.Object()
	for name, ok := s.Member(); ok; name, ok = s.Member() {
		got[string(name)] = s.Value()
	}
	if !s.Done() {
		return
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(text, &want); err != nil || len(want) != len(got) {
		t.Fatalf("%q: got %q, want %q, %v", text, got, want, err)
	}
	for name, v := range want {
		if !bytes.Equal(got[name], v) {
			t.Errorf("%q: %s is %q, want %q", text, name, got[name], v)
		}
	}
}

func TestWhatIsNotStrangeMeansWhatEncodingJSONSays(t *testing.T) {
	for _, text := range texts {
		same(t, []byte(text))
	}
}

func FuzzWhatIsNotStrangeMeansWhatEncodingJSONSays(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(same)
}

// What our encoders write must be read without encoding/json.
func TestTheUsualIsNotStrange(t *testing.T) {
	for _, text := range texts {
		s := scan.Of([]byte(text))
		deep := strings.HasPrefix(text, strings.Repeat("[", scan.MaxDepth+1)) || strings.HasPrefix(text, strings.Repeat(`{"a":[`, scan.MaxDepth/2+1))
		if usual := json.Valid([]byte(text)) && text[0] != ' ' && !deep; usual != (s.Value() != nil && s.Done()) {
			t.Errorf("%q: usual is %v", text, usual)
		}
	}
	s := scan.Of([]byte(`{"a":7,"b":"x"}`))
	s.Literal(`{`)
	if n, x := s.Natural(`"a":`), s.Text(`,"b":`); n != 7 || string(x) != "x" || !s.Has("}") || !s.Done() {
		t.Errorf("got %d, %q", n, x)
	}
}

func TestWhatWasOnceStrangeStaysSo(t *testing.T) {
	s := scan.Of([]byte(`{"a":1}`))
	s.Literal("[")
	s.Literal(`{"a":1}`)
	if s.Done() || !s.Strange() {
		t.Error("it is not")
	}
}

func TestCompactDetaches(t *testing.T) {
	text := []byte(`{"a":1}`)
	got, err := scan.Compact(text)
	text[2] = 'b'
	if err != nil || string(got) != `{"a":1}` {
		t.Errorf("got %s, %v", got, err)
	}
}

var benchValue = []byte(`{"customer":"c-17","lines":[{"sku":"a","n":2},{"sku":"b","n":1}],"total":129.50}`)

func BenchmarkValid(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if !scan.Valid(benchValue) {
			b.Fatal()
		}
	}
}

func BenchmarkJSONValid(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if !json.Valid(benchValue) {
			b.Fatal()
		}
	}
}

func BenchmarkCompact(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scan.Compact(benchValue); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJSONCompact(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var buf bytes.Buffer
		buf.Grow(len(benchValue))
		if err := json.Compact(&buf, benchValue); err != nil {
			b.Fatal(err)
		}
	}
}
