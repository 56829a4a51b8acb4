package partition

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// A topic of summaries that is gone for longer than memory has room, and beyond the end of
// a killed owner, has the newest summary of each workflow once it is there again.
func TestSummariesBeyondMemoryOutliveTheirOwner(t *testing.T) {
	inBubble(t, func(r *rig) {
		const most, inflight, workflows = 8, 16, 40
		r.settings.InflightRecords, r.settings.ParkedRecords = inflight, most
		p := r.partitionOf("w")
		a := r.start("a", p)
		r.adder()
		r.without(r.names.Status())
		var all []string
		for i := 0; len(all) < workflows; i++ {
			if w := fmt.Sprint("w-", i); r.partitionOf(w) == p {
				all = append(all, w)
				r.do(w, "start", `{"definition":"counter"}`)
			}
		}
		add := func() {
			for range 3 {
				for _, w := range all {
					r.do(w, "input", `{"input": 7}`)
				}
			}
			<-time.After(3 * kafka.EffectTimeout)
		}
		add()
		waits := func(s *site) {
			// Some are on their way. Those of a log that was known still wait for it, with newer
			// ones for a topic that is not.
			if n := s.Stats.Parked.Load(); n < workflows-inflight || n > 2*workflows {
				t.Errorf("%d summaries are parked, want those of %d workflows", n, workflows)
			}
		}
		waits(a)
		a.kill()
		b := r.start("a", p)
		defer b.leave()
		b.await(Owning)
		add()
		waits(b)
		r.with(r.names.Status())
		var mu sync.Mutex
		told := map[string]string{}
		r.tail(r.names.Status(), func(k *kgo.Record) {
			mu.Lock()
			told[string(k.Key)] = string(k.Value)
			mu.Unlock()
		})
		<-time.After(2 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		for _, w := range all {
			if told[w] != "42" {
				t.Errorf("the summary of %s says %q, want 42", w, told[w])
			}
		}
		if n := b.Stats.Parked.Load(); n != 0 {
			t.Errorf("%d effects are still parked", n)
		}
	})
}
