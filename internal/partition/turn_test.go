package partition

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
)

// mutedCluster is one of whose journals some bring nothing while that is so.
type mutedCluster struct {
	Cluster
	topic string
	below int32 // partitions
	muted *atomic.Bool
}

// Source implements Cluster.
func (c mutedCluster) Source() (journal.Source, error) {
	source, err := c.Cluster.Source()
	return mutedSource{source, c}, err
}

type mutedSource struct {
	journal.Source
	in mutedCluster
}

// OpenLog implements journal.Source.
func (s mutedSource) OpenLog() (journal.Log, error) {
	cl, err := s.Source.OpenLog()
	return &mutedLog{Log: cl, in: s.in}, err
}

type mutedLog struct {
	journal.Log
	in  mutedCluster
	its bool // it reads one of them
}

// AddConsumePartitions implements journal.Log.
func (l *mutedLog) AddConsumePartitions(all map[string]map[int32]kgo.Offset) {
	for p := range all[l.in.topic] {
		l.its = l.its || p < l.in.below
	}
	l.Log.AddConsumePartitions(all)
}

// PollFetches implements journal.Log.
func (l *mutedLog) PollFetches(ctx context.Context) kgo.Fetches {
	if l.its && l.in.muted.Load() {
		<-ctx.Done()
		return kgo.NewErrFetch(ctx.Err())
	}
	return l.Log.PollFetches(ctx)
}

// Journals of which nothing comes keep no other partition from recovering, and are
// recovered once it comes.
func TestAMuteJournalKeepsNoOtherFromRecovering(t *testing.T) {
	inBubbleOf(t, recoveriesAtOnce+2, func(r *rig) {
		var all []int32
		for p := range r.n {
			all = append(all, p)
		}
		owned := func(s *site, from int32) func() bool {
			return func() bool {
				for _, o := range s.owners {
					if at := o.Status(); at.Partition >= from && at.State != Owning {
						return false
					}
				}
				return true
			}
		}
		a := r.start("a", all...)
		r.passes("all are owned", owned(a, 0))
		for _, p := range all { // something that no checkpoint has
			r.do(r.workflowOf(p), "start", `{"definition":"counter"}`)
		}
		a.kill()
		muted := &atomic.Bool{}
		muted.Store(true)
		r.over = func(c Cluster) Cluster {
			return mutedCluster{c, r.names.Journal(), recoveriesAtOnce, muted}
		}
		b := r.start("b", all[:recoveriesAtOnce]...)
		defer b.leave()
		<-time.After(time.Second)
		for _, p := range all[recoveriesAtOnce:] {
			b.owners = append(b.owners, b.Own(context.Background(), p))
		}
		r.passes("those that can be read are owned", owned(b, recoveriesAtOnce))
		for _, o := range b.owners[:recoveriesAtOnce] {
			if at := o.Status(); at.State != Recovering {
				t.Errorf("of a journal of which nothing comes the owner is %+v", at)
			}
		}
		muted.Store(false)
		r.passes("all are owned", owned(b, 0))
		if n := len(b.recovering); n != 0 {
			t.Errorf("%d recoveries hold their slots", n)
		}
	})
}
