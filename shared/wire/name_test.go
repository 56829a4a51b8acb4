package wire_test

import (
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/wire"
)

// named has a name and a text beside it.
type named struct {
	Name  string
	Text  string
	Inner *named
}

func (m *named) Fields(c *wire.Codec) {
	wire.Name(c, 1, "name", &m.Name)
	wire.String(c, 2, "text", &m.Text)
	wire.Optional(c, 3, "inner", &m.Inner)
}

// Names share places by their ends, so these would be mixed up if any were.
func TestANameIsReadAsItWasWritten(t *testing.T) {
	long := strings.Repeat("x", 200)
	all := []string{"", "a", "abca", "acba", "aXXa", "aYXa", "b", "ü", long, long + "y"}
	for range 3 {
		for _, name := range all {
			for _, other := range all {
				b := wire.Marshal(&named{Name: name, Text: other, Inner: &named{Name: other}})
				var back named
				if err := wire.Unmarshal(b, &back); err != nil || back.Name != name || back.Text != other || back.Inner.Name != other {
					t.Fatalf("%q and %q came back as %+v, %v", name, other, back, err)
				}
				clear(b) // a name keeps nothing of what it was read from
				if back.Name != name || back.Inner.Name != other {
					t.Fatalf("%q and %q changed with their record to %+v", name, other, back)
				}
			}
		}
	}
}

func TestANameIsDecodedStrictly(t *testing.T) {
	wantError(t, []byte("\x0a\x02\xff\xfe"), &named{}, "field 1 is not UTF-8")
	wantError(t, []byte("\x0a\x02\xff\xfe"), &named{}, "field 1 is not UTF-8") // nor when it is seen again
	wantError(t, []byte("\x12\x01a\x08\x01"), &named{}, "wire type 0, want 2")
}

func TestANameThatIsKnownTakesNoMemory(t *testing.T) {
	b := wire.Marshal(&named{Name: "orders.price"})
	var m named
	read := func() {
		m = named{}
		if err := wire.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
