package partition

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
)

// A limit of the journal that is lowered under load refuses whole batches of small
// records. They are decided all the same; only what is larger by itself is refused.
func TestJ4ALowerLimitOfTheJournalRefusesOnlyWhatIsLarger(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		s := r.start("a", p)
		defer s.leave()
		r.do("w", "start", `{"definition":"counter"}`)
		rng := rand.NewChaCha8([32]byte{1})
		const lowered = 64 << 10
		r.cluster.Lower(r.t, r.names.Journal(), lowered)
		var ids []string
		for range 100 { // many of them in one batch
			ids = append(ids, r.send("w", "input", `{"input":"`+brokertest.Noise(rng, 4<<10)+`"}`))
		}
		large := r.send("w", "input", `{"input":"`+brokertest.Noise(rng, 4*lowered)+`"}`)
		for _, id := range ids {
			if reply := r.reply(id, 1); reply.Refusal != nil {
				t.Fatalf("a small input is refused: %+v", reply.Refusal)
			}
		}
		if reply := r.reply(large, 1); reply.Refusal == nil || reply.Refusal.Code != "too_large" {
			t.Errorf("a large input is answered %+v", reply)
		}
		if at := s.await(Owning); at.Epoch < 2 || at.Epoch > 3 {
			t.Errorf("the limit was learnt by epoch %d, want 2 or 3", at.Epoch)
		}
	})
}

// The same of the changelog: the next tenure's checkpoints fit.
func TestC3ALowerLimitOfTheChangelogIsHeeded(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		s := r.start("a", 0)
		defer s.leave()
		s.await(Owning)
		r.cluster.Lower(r.t, r.names.State(), 64<<10)
		rng := rand.NewChaCha8([32]byte{2})
		start := func() string { return r.send(brokertest.Noise(rng, 100), "start", `{"definition":"counter"}`) }
		var ids []string
		for range 1000 {
			ids = append(ids, start())
		}
		for _, id := range ids {
			r.reply(id, 1)
		}
		<-time.After(time.Minute)
		if at := s.await(Owning); at.Epoch < 2 || at.Epoch > 3 {
			t.Errorf("the limit was learnt by epoch %d, want 2 or 3", at.Epoch)
		}
		was := s.Stats.CheckBytes.Load()
		r.reply(start(), 1)
		<-time.After(20 * time.Second)
		if now := s.Stats.CheckBytes.Load(); now == was {
			t.Error("no checkpoint is written any more")
		}
	})
}
