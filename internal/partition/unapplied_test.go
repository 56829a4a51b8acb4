package partition

import (
	"strings"
	"testing"
	"time"
)

func TestJ6AQuarantineOfReplayIsInHistoryAndDLQ(t *testing.T) {
	for _, lost := range []bool{false, true} {
		inBubble(t, func(r *rig) {
			r.settings.NeverRunsTwice = true
			r.settings.CheckpointInterval = time.Hour // the journal is replayed
			letters := r.letters()
			p := r.partitionOf("w")
			a := r.start("a", p)
			r.counted("w", 3)
			a.kill()
			r.forgetIn("a", p)
			r.counter.Unapplied = 2
			b := r.start("a", p)
			if l := <-letters; l.Workflow != "w" || string(l.Value) != `{"input": 7}` || !strings.HasPrefix(l.Reason, "quarantined: journal record 1.4") {
				t.Errorf("the letter is %+v", l)
			}
			if _, open := r.query("w"); open != 2 {
				t.Errorf("%d additions are open, want the two others", open)
			}
			r.do("w", "checkpoint", `{}`) // behind the quarantine
			b.kill()
			if lost {
				r.forgetIn("a", p)
			}
			c := r.start("a", p)
			defer c.leave()
			r.do("w", "input", `{"input": 7}`)
			if _, open := r.query("w"); open != 3 {
				t.Errorf("%d additions are open after one more", open)
			}
			if n := r.has(p, "WorkflowQuarantined"); n != 1 {
				t.Errorf("%d quarantines, want one", n)
			}
		})
	}
}
