package events_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// long is a source of values that are all long.
type long struct{ fixed }

func (l *long) text(string) string          { return strings.Repeat("x", 1000) }
func (l *long) blob(string) []byte          { return make([]byte, 1000) }
func (l *long) json(string) json.RawMessage { return json.RawMessage(`"` + l.text("") + `"`) }
func (l *long) length(string) int           { return 1 }

// A budget counts weights: an event whose bytes it did not see would be bounded
// by nothing, and one that weighs more than it takes would be refused too early.
func TestAnEventWeighsWhatItTakes(t *testing.T) {
	for _, n := range events.Numbers() {
		for name, s := range map[string]source{"long": &long{}, "short": &fixed{}} {
			e, _ := events.New(n)
			weight, size := events.Weight(filled(s, e)), len(wire.Marshal(&events.Envelope{Event: e}))
			if weight > size {
				t.Errorf("%s, %s values: weighs %d, has %d bytes", events.Name(e), name, weight, size)
			}
			if domain := n < 64; domain && name == "long" && size > 500 && weight < size*9/10 {
				t.Errorf("%s, %s values: weighs %d of its %d bytes", events.Name(e), name, weight, size)
			}
		}
		if e, _ := events.New(n); events.Weight(e) > len(wire.Marshal(&events.Envelope{Event: e})) {
			t.Errorf("an empty %s weighs %d", events.Name(e), events.Weight(e))
		}
	}
}
