package sim

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/runtime"
)

// A blocked owner repeats the lease that was published, or a claimant would wait too
// short or too long for it.
func TestTheAuditNoticesABlockedOwnerThatChangesALease(t *testing.T) {
	held := runtime.Held("p1/1", "l", time.Unix(100, 0), 3)
	longer := runtime.Held("p1/1", "l", time.Unix(200, 0), 3)
	for name, c := range map[string]struct {
		blocked []runtime.Authority
		sound   bool
	}{
		"as it was":        {[]runtime.Authority{held, held}, true},
		"longer":           {[]runtime.Authority{held, longer}, false},
		"free":             {[]runtime.Authority{held, {}}, false},
		"nothing was said": {[]runtime.Authority{{}}, true},
	} {
		bubble(func() {
			w := newWorld(Options{Seed: 1})
			n := &node{w: w, c: w.c, name: "planner"}
			why := "the journal is gone"
			for _, a := range c.blocked {
				value, err := json.Marshal(runtime.Record{Authority: a, Blocked: &why})
				if err != nil {
					t.Fatal(err)
				}
				w.cursors.wrote(n, []*kgo.Record{kafka.Placed(w.c.names.Authority(), 0, []byte("0"), value)}, nil)
			}
			if w.failed() == c.sound {
				t.Errorf("%s: %v", name, w.err())
			}
			w.shutdown()
		})
	}
}
