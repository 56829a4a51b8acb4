package partition

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/kafka"
)

// lower sets the largest batch that a topic takes.
func (r *rig) lower(topic string, bytes int) {
	r.t.Helper()
	cl, err := kafka.NewAdmin(r.cluster.Config)
	r.must(err)
	defer cl.Close()
	value := fmt.Sprint(bytes)
	all, err := kadm.NewClient(cl).AlterTopicConfigs(context.Background(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &value}}, topic)
	r.must(err)
	for _, one := range all {
		r.must(one.Err)
	}
}

// noise is a text that no compression makes shorter than half.
func noise(rng *rand.ChaCha8, bytes int) string {
	b := make([]byte, bytes/2)
	_, _ = rng.Read(b) // it never fails
	return hex.EncodeToString(b)
}

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
		r.lower(r.names.Journal(), lowered)
		var ids []string
		for range 100 { // many of them in one batch
			ids = append(ids, r.send("w", "input", `{"input":"`+noise(rng, 4<<10)+`"}`))
		}
		large := r.send("w", "input", `{"input":"`+noise(rng, 4*lowered)+`"}`)
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

// The same of the changelog: the next reign's checkpoints fit.
func TestC3ALowerLimitOfTheChangelogIsHeeded(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		s := r.start("a", 0)
		defer s.leave()
		s.await(Owning)
		r.lower(r.names.State(), 64<<10)
		rng := rand.NewChaCha8([32]byte{2})
		start := func() string { return r.send(noise(rng, 100), "start", `{"definition":"counter"}`) }
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
