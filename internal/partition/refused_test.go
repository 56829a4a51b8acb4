package partition

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
)

// An effect that was refused for good is over, also for an owner that replays
// its record together with the one that says so.
func TestJ4ARefusedEffectIsNotReleasedAgainByReplay(t *testing.T) {
	for name, refuse := range map[string]func(r *rig, p int32){
		"made from the record": func(r *rig, _ int32) {
			r.do("loud", "start", `{"definition":"counter"}`)
			r.do("loud", "input", `{"input":7}`)
			r.settled("loud")
		},
		"made from the input": func(r *rig, p int32) {
			rec := kafka.Placed(r.names.Commands(), p, []byte("loud"), []byte("no command"))
			rec.Headers = slices.Repeat(append(rec.Headers, kafka.Header("h", nil)), 250_000) // its letter is larger than the dlq takes
			r.must(r.producer.ProduceSync(context.Background(), rec).FirstErr())
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.settings.NeverRunsTwice = true
				r.settings.CheckpointInterval = time.Hour // the journal is replayed
				r.adder()
				p := r.partitionOf("loud")
				a := r.start("a", p)
				refuse(r, p)
				r.do("loud", "pause", `{}`)
				r.do("loud", "pause", `{}`)
				<-time.After(time.Second) // the broker has refused it
				if n := r.has(p, "EffectFailed"); n != 1 {
					r.t.Fatalf("%d effects have failed, want one", n)
				}
				a.kill()
				r.forgetIn("a", p)
				b := r.start("a", p)
				defer b.leave()
				r.do("loud", "pause", `{}`)
				r.do("loud", "pause", `{}`)
				if n := b.Stats.Failed.Load(); n != 0 {
					t.Errorf("after the recovery %d effects were refused again", n)
				}
			})
		})
	}
}
