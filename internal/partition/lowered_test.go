package partition

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
)

// seenKeys collects the keys of a topic's records.
type seenKeys struct {
	mu   sync.Mutex
	keys map[string]int
}

func (r *rig) keysOf(topic string) *seenKeys {
	s := &seenKeys{keys: map[string]int{}}
	r.tail(topic, func(k *kgo.Record) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keys[string(k.Key)]++
	})
	return s
}

func (s *seenKeys) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys)
}

// until waits for a while until something is so.
func until(so func() bool) bool {
	for range 600 {
		if so() {
			return true
		}
		<-time.After(100 * time.Millisecond)
	}
	return so()
}

// A queue's limit that is lowered under load refuses whole batches of small tasks:
// they are sent all the same, and no attempt is lost.
func TestJ4ALowerLimitOfAQueueLosesNothingThatFits(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		const small, lowered = 100, 32 << 10
		s := r.start("a", 0)
		defer s.leave()
		rng := rand.NewChaCha8([32]byte{3})
		for i := range small {
			r.do(fmt.Sprint("w", i), "start", `{"definition":"counter"}`)
		}
		tasks := r.keysOf(r.names.Tasks("default"))
		r.cluster.Lower(r.t, r.names.Tasks("default"), lowered)
		for i := range small { // many of them in one batch
			r.send(fmt.Sprint("w", i), "input", `{"input":"`+brokertest.Noise(rng, 4<<10)+`"}`)
		}
		if !until(func() bool { return tasks.len() == small }) {
			t.Errorf("the tasks of %d workflows are in the queue, want %d", tasks.len(), small)
		}
		if n := r.has(0, "RunnableLost"); n != 0 {
			t.Errorf("%d attempts whose tasks are small were lost", n)
		}
	})
}

// The same of letters: what is larger than the dlq takes has its reason in the journal.
func TestJ4ALowerLimitOfTheDLQRefusesOnlyWhatIsLarger(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		const small, lowered = 60, 32 << 10
		s := r.start("a", 0)
		defer s.leave()
		s.await(Owning)
		letters := r.keysOf(r.names.DLQ())
		r.cluster.Lower(r.t, r.names.DLQ(), lowered)
		rng := rand.NewChaCha8([32]byte{4})
		reject := func(key string, bytes int) {
			r.producer.Produce(context.Background(),
				kafka.Placed(r.names.Commands(), 0, []byte(key), json.RawMessage(`no command `+brokertest.Noise(rng, bytes))), nil)
		}
		reject("large", 2*lowered)
		for i := range small {
			reject(fmt.Sprint("w", i), 2<<10)
		}
		if !until(func() bool { return letters.len() == small && r.has(0, "EffectFailed") == 1 }) {
			t.Errorf("the dlq has %d letters, want %d; %d effects failed, want one", letters.len(), small, r.has(0, "EffectFailed"))
		}
	})
}
