package planner

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/machine"
)

// words is a list of so many texts, each of which is told by its place.
func words(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%q", fmt.Sprintf("the word number %05d", i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// A reduce that collects a long list writes as much for each element, at the end as at the
// beginning: it would be gigabytes if each value were written that it comes to on the way.
func TestCollectingALongListIsFlat(t *testing.T) {
	const n = 4000
	for name, d := range map[string]string{
		"of a map": `{"name":"d","components":{"m":{"map":"input","parallel":8,"do":{"x":{"step":"f.id"}}},` +
			`"r":{"reduce":"m.x","init":[],"with":"append(acc, item)"}}}`,
		"of a list": `{"name":"d","components":{"r":{"reduce":"input","init":[],"with":"append(acc, item)"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{seed: 3})
			w.defs["d"] = d
			list := words(n)
			w.startsWith(list)
			w.run()
			if got, want := string(w.query("results", "w", false)), `{"results":{"r":`+list+`},"status":"idle"}`; got != want {
				t.Fatalf("%d bytes of results, want %d", len(got), len(want))
			}
			written := 0
			for _, record := range w.journal {
				written += len(record)
			}
			if written > 6*len(list)+n*(bytesForOne+600) {
				t.Errorf("%d bytes of journal for a list of %d", written, len(list))
			}
			t.Logf("%d bytes of journal for a list of %d", written, len(list))
		})
	}
}

const collecting = `{"name":"d","components":{
	"m":{"map":"input","tolerate":"50%","do":{"x":{"step":"f.fussy"},"later":{"signal":"go","after":"x"}}},
	"all":{"reduce":"m.x","init":[],"with":"append(acc, item)"},
	"told":{"expr":"len(input)","after":"all"},
	"short":{"reduce":"m.x","init":[],"with":"append(acc, item)","until":"len(acc) >= 100"},
	"wrong":{"reduce":"m.x","init":[],"with":"append(acc, item)","errors":true},
	"number":{"expr":"[len(input.value), len(input.errors), input.value[150], input.errors[15].index]","after":"wrong"}},
	"outputs":{"all":"all","told":"told","short":"short","number":"number"}}`

// What waits to be folded is folded in order, whatever ends first; at the latest when all of
// it is there, though the map goes on.
func TestWhatWaitsToBeFoldedIsFoldedInOrder(t *testing.T) {
	const n, zeros = 200, 10 // each tenth element fails
	var given, good []string
	for i := range n {
		if i%zeros == zeros-1 {
			given = append(given, "0")
			continue
		}
		good = append(good, strconv.Itoa(1_000_000+i))
		given = append(given, good[len(good)-1])
	}
	all, short := strings.Join(good, ","), strings.Join(good[:100], ",")
	for _, s := range []setting{
		{name: "in order"},
		{name: "in any order", seed: 5},
		{name: "few at a time", seed: 5, concurrency: 7},
		{name: "restarted", seed: 6, restart: true},
		{name: "twice", seed: 7, duplicate: true},
		{name: "in small pieces", seed: 8, budget: machine.Budget{Events: 1}},
	} {
		t.Run(s.name, func(t *testing.T) {
			w := newWorld(t, s)
			w.defs["d"] = collecting
			w.startsWith("[" + strings.Join(given, ",") + "]")
			w.run()
			want := fmt.Sprintf(`{"results":{"all":[%s],"number":[180,20,1000166,159],"short":[%s],"told":180},"status":"running"}`, all, short)
			if got := string(w.query("results", "w", false)); got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
			w.command("w", "cancel", `{}`)
			w.command("w", "delete", `{}`)
			w.gone()
		})
	}
}
