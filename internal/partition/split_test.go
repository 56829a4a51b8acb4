package partition

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A checkpoint that is too large for one transaction is written in several, each
// of which restores to the right state (C3).
func TestC3ALargeCheckpointIsSplitByWorkflow(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		a := r.start("a", 0)
		large := `{"input":"` + strings.Repeat("x", 1<<20) + `"}`
		for i := range 12 {
			w := fmt.Sprint("w", i)
			r.do(w, "start", `{"definition":"counter"}`)
			r.do(w, "input", large)
		}
		before := r.markers()
		r.do("_partition/0", "checkpoint", `{"by":"ann","why":"test"}`)
		for r.markers() < before+2 {
			<-time.After(100 * time.Millisecond)
		}
		<-time.After(time.Second)
		transactions := r.markers() - before
		a.kill()
		b := r.start("elsewhere", 0)
		defer b.leave()
		b.await(Owning)
		for i := range 12 {
			if _, open := r.query(fmt.Sprint("w", i)); open != 1 {
				t.Errorf("w%d has %d open additions, want 1", i, open)
			}
		}
		if n := b.Stats.Replayed.Load(); n > 2 {
			t.Errorf("%d records were replayed behind a checkpoint of everything", n)
		}
		if transactions < 3 {
			t.Errorf("12 MiB went into %d transactions", transactions)
		}
	})
}

// markers counts the markers in the changelog of partition 0.
func (r *rig) markers() int {
	r.t.Helper()
	n := 0
	r.eachOf(r.names.State(), func(k *kgo.Record) error {
		if bytes.Equal(k.Key, markerKey.Append(nil)) {
			n++
		}
		return nil
	})
	return n
}

// eachOf visits the records of partition 0 of a topic.
func (r *rig) eachOf(topic string, visit func(*kgo.Record) error) {
	r.t.Helper()
	read, err := newReader(kafkaCluster{r.cluster.Config}, kadm.NewClient(r.cluster.Admin(r.t)))
	r.must(err)
	defer r.cluster.Close(read.cl.(*kgo.Client))
	ctx := context.Background()
	log, err := read.spanOf(ctx, topic, 0)
	r.must(err)
	r.must(read.read(ctx, topic, 0, log.Start, log.End, visit))
}
