package archiver

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/journal"
)

// What an archiver holds while it catches up is bounded by its bytes.
func TestWhatIsHeldIsBoundedByBytes(t *testing.T) {
	const most, input = 100_000, 20_000
	r := newRig(t)
	for i := range 40 {
		r.command(fmt.Sprintf("w%d", i), "start", `{"definition":"d","input":"`+strings.Repeat("x", input)+`"}`)
	}
	reg := prometheus.NewRegistry()
	var mu sync.Mutex
	highest := 0.0
	r.archiver(func(c *Config) {
		c.Registry, c.Settings.Bytes = reg, most
		c.before = func(step string) error {
			if step == "place" {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			highest = max(highest, r.gauged(reg, "heddle_archiver_waiting_bytes"))
			return nil
		}
	})
	r.comes("most are written", func() bool { return len(r.runs("w35")) == 1 })
	mu.Lock()
	defer mu.Unlock()
	if highest == 0 || highest > most*5/4+2*input {
		t.Fatalf("%v bytes were held, and %d may be", highest, most)
	}
}

// Nothing is read ahead beyond its bytes, and one record always is, whatever its size.
func TestWhatIsReadAheadIsBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAhead()
		large := journal.Entry{Value: make([]byte, mostAheadBytes+1)}
		put := 0
		go func() {
			for range 3 {
				if a.put(t.Context(), large) != nil {
					return
				}
				put++
			}
		}()
		for want := range 3 {
			synctest.Wait()
			if put != want+1 {
				t.Fatalf("%d entries are ahead when %d are taken", put, want)
			}
			a.took(<-a.list)
		}
		ctx, stop := context.WithCancel(t.Context())
		if err := a.put(ctx, large); err != nil {
			t.Fatal(err)
		}
		stop()
		if a.put(ctx, large) == nil {
			t.Fatal("there is room behind an entry that is too large")
		}
	})
}
