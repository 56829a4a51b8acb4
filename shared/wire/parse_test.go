package wire_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/wire"
)

func TestParsingIsTheInverseOfPrinting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := outers(4).Draw(t, "message")
		text := wire.ToJSON(m)
		var back outer
		if err := wire.FromJSON(text, &back); err != nil {
			t.Fatalf("parsing %s: %v", text, err)
		}
		if got, want := string(wire.Marshal(&back)), string(wire.Marshal(m)); got != want {
			t.Fatalf("%s came back as %s", text, wire.ToJSON(&back))
		}
	})
}

// presence uses the fields whose zero or absence says something.
type presence struct {
	Place int64
	Maybe *uint32
	Not   bool
	Pairs []wire.Pair
}

func (m *presence) Fields(c *wire.Codec) {
	wire.Index(c, 1, "place", &m.Place)
	wire.Maybe(c, 2, "maybe", &m.Maybe)
	c.Unless(3, "is", &m.Not)
	c.Pairs(4, "pairs", &m.Pairs)
}

func TestWhatIsNotThereIsSomethingElseThanZero(t *testing.T) {
	zero := uint32(0)
	for text, m := range map[string]*presence{
		`{"place":0,"maybe":null}`:                                     {},
		`{"place":0,"maybe":0,"is":false}`:                             {Maybe: &zero, Not: true},
		`{"place":-1,"maybe":null,"pairs":{"b":[1, 2],"a":"<\ud83d"}}`: {Place: -1, Pairs: []wire.Pair{{Key: "b", Value: []byte("[1, 2]")}, {Key: "a", Value: []byte(`"<\ud83d"`)}}},
	} {
		if got := string(wire.ToJSON(m)); got != text {
			t.Errorf("printed %s, want %s", got, text)
		}
		var parsed, decoded presence
		if err := wire.Unmarshal(wire.Marshal(m), &decoded); err != nil || string(wire.ToJSON(&decoded)) != text {
			t.Errorf("%s is decoded as %s, %v", text, wire.ToJSON(&decoded), err)
		}
		if strings.Contains(text, `\ud83d`) {
			continue // half a character, which the planner refuses: no frame has it
		}
		if err := wire.FromJSON([]byte(text), &parsed); err != nil || string(wire.ToJSON(&parsed)) != text {
			t.Errorf("%s is parsed as %s, %v", text, wire.ToJSON(&parsed), err)
		}
	}
	var m presence
	if err := wire.FromJSON([]byte(`{"is":true,"maybe":null,"pairs":null}`), &m); err != nil || m.Not || m.Maybe != nil || m.Pairs != nil {
		t.Errorf("got %+v, %v", m, err)
	}
	twice := &presence{Pairs: []wire.Pair{{Key: "a", Value: []byte("1")}, {Key: "a", Value: []byte("1")}}}
	if err := wire.Unmarshal(wire.Marshal(twice), &m); err == nil {
		t.Error("bytes with a key twice were decoded")
	}
	if err := wire.FromJSON(wire.ToJSON(twice), &m); err == nil {
		t.Error("JSON with a key twice was parsed")
	}
}

func TestNestingHasABound(t *testing.T) {
	deep := strings.Repeat(`{"tree":`, 1000) + "{}" + strings.Repeat("}", 1000)
	if err := wire.FromJSON([]byte(deep), &outer{}); err == nil || !strings.Contains(err.Error(), "too deeply") {
		t.Errorf("got %v", err)
	}
}
