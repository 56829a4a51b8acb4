package partition

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/runtime"
)

// A partition whose owners change all the time remembers the last of them only.
func TestTheChainOfEpochsIsBounded(t *testing.T) {
	var epochs []epochRow
	for i := range uint64(3 * loop.MostEpochs) {
		epochs = chain(epochs, epochRow{i + 1, int64(10 * i), 1}, 0)
		first, last := epochs[0].Epoch, epochs[len(epochs)-1].Epoch
		if want := min(int(i)+1, loop.MostEpochs); len(epochs) != want || last != i+1 || first != last-uint64(want)+1 {
			t.Fatalf("after %d takeovers the chain has %d epochs from %d to %d", i+1, len(epochs), first, last)
		}
	}
	before := slices.Clone(epochs)
	if again := chain(epochs, epochs[len(epochs)-1], 0); !slices.Equal(again, before) {
		t.Errorf("a takeover that is read again makes %v of %v", again, before)
	}
}

// A marker may have a chain that is longer, as owners wrote before it was bounded: the
// next owner reads it, and publishes a record that fits its topic.
func TestALongChainOfEpochsIsCutByTheNextOwner(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.settings = loop.Settings{BrokerIsOurs: true}
		p := r.partitionOf("w")
		a := r.start("a", p)
		r.do("w", "start", `{"definition":"counter"}`)
		before := a.await(Owning).Epoch
		a.leave()
		m := r.marker(p)
		for i := range int64(50_000) {
			m.Epochs = append(m.Epochs, epochRow{before, i + 1, 1})
		}
		r.must(r.producer.ProduceSync(context.Background(),
			kafka.Placed(r.names.State(), p, markerKey.Append(nil), encodeMarker(m))).FirstErr())
		published := make(chan runtime.Record, 100)
		b := r.start("b", p)
		defer b.leave()
		if epoch := b.await(Owning).Epoch; epoch != before+1 {
			t.Errorf("epoch %d follows %d", epoch, before)
		}
		r.tail(r.names.Authority(), func(k *kgo.Record) {
			var rec runtime.Record
			if err := json.Unmarshal(k.Value, &rec); err != nil {
				t.Errorf("a published record cannot be read: %v", err)
			}
			published <- rec
		})
		for rec := range published {
			if rec.Authority.Epoch == nil || *rec.Authority.Epoch != before+1 {
				continue
			}
			if n := len(rec.Epochs); n > loop.MostEpochs || rec.Epochs[n-1].Epoch != before+1 {
				t.Errorf("%d epochs are published, the last is %+v", n, rec.Epochs[n-1])
			}
			return
		}
	})
}

// marker is the newest one in the changelog of a partition.
func (r *rig) marker(p int32) *marker {
	r.t.Helper()
	h, err := kafkaCluster{r.cluster.Config}.Admin()
	r.must(err)
	defer h.Close()
	read, err := newReader(kafkaCluster{r.cluster.Config}, h)
	r.must(err)
	defer read.close()
	k, err := read.last(context.Background(), r.names.State(), p, markerKey.Append(nil))
	r.must(err)
	m, err := decodeMarker(k.Value)
	r.must(err)
	return m
}
