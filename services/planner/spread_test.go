package planner

import (
	"slices"
	"testing"
)

// Steps one after the other stay in one partition of their queue, attempts that
// are open together are spread over all of them, also when max_concurrency lets
// only some run at a time (E2).
func TestAttemptsThatAreOpenTogetherAreSpread(t *testing.T) {
	for _, c := range []struct {
		name, definition string
		want             []uint64
	}{
		{"chain", `{"name":"d","components":{"a":{"step":"f.id"},"b":{"step":"f.id","after":"a"},"c":{"step":"f.id","after":"b"}}}`,
			[]uint64{0, 0, 0}},
		{"fan-out", `{"name":"d","components":{"a":{"step":"f.id"},"b":{"step":"f.id"},"c":{"step":"f.id"},"d":{"step":"f.id"}}}`,
			[]uint64{0, 2, 3, 4}},
		{"two at a time", `{"name":"d","options":{"max_concurrency":2},"components":{"a":{"step":"f.id"},"b":{"step":"f.id"},"c":{"step":"f.id"},"d":{"step":"f.id"}}}`,
			[]uint64{0, 2, 3, 4}},
	} {
		w := newWorld(t, setting{})
		w.defs["d"] = c.definition
		w.command("w", "start", `{"definition":"d","input":1}`)
		w.run()
		if !slices.Equal(w.spreads, c.want) {
			t.Errorf("%s: spread over %v, want %v", c.name, w.spreads, c.want)
		}
	}
}
