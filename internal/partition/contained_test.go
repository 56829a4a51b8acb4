package partition

import (
	"context"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// defectiveShared is a cluster whose clients that all partitions of a process share
// meet a defect of ours, once, in the call that is named in falls.
type defectiveShared struct {
	Cluster
	falls  *atomic.Pointer[string]
	routes *atomic.Bool // the router has its client
}

func newDefectiveShared(c Cluster) *defectiveShared {
	return &defectiveShared{c, &atomic.Pointer[string]{}, &atomic.Bool{}}
}

// arm makes the next such call fall.
func (c *defectiveShared) arm(call string) { c.falls.Store(&call) }

// fallen reports whether the call has fallen.
func (c *defectiveShared) fallen() bool { return c.falls.Load() == nil }

func (c *defectiveShared) meet(call string) {
	if at := c.falls.Load(); at != nil && *at == call && c.falls.CompareAndSwap(at, nil) {
		panic("a " + call + " that cannot be")
	}
}

// Logs implements Cluster: the router asks first.
func (c *defectiveShared) Logs() (LogReader, error) {
	cl, err := c.Cluster.Logs()
	if err == nil && c.routes.CompareAndSwap(false, true) {
		cl = defectiveLogs{cl, c}
	}
	return cl, err
}

// Admin implements Cluster.
func (c *defectiveShared) Admin() (Admin, error) {
	adm, err := c.Cluster.Admin()
	return defectiveAdmin{adm, c}, err
}

type defectiveLogs struct {
	LogReader
	in *defectiveShared
}

// PollFetches implements LogReader: what was fetched falls, too.
func (l defectiveLogs) PollFetches(ctx context.Context) kgo.Fetches {
	fetches := l.LogReader.PollFetches(ctx)
	if fetches.NumRecords() > 0 {
		l.in.meet("poll")
	}
	return fetches
}

// AddConsumePartitions implements LogReader.
func (l defectiveLogs) AddConsumePartitions(all map[string]map[int32]kgo.Offset) {
	l.in.meet("add")
	l.LogReader.AddConsumePartitions(all)
}

// RemoveConsumePartitions implements LogReader.
func (l defectiveLogs) RemoveConsumePartitions(all map[string][]int32) {
	l.in.meet("remove")
	l.LogReader.RemoveConsumePartitions(all)
}

// PauseFetchPartitions implements LogReader.
func (l defectiveLogs) PauseFetchPartitions(all map[string][]int32) map[string][]int32 {
	l.in.meet("pause")
	return l.LogReader.PauseFetchPartitions(all)
}

type defectiveAdmin struct {
	Admin
	in *defectiveShared
}

// Metadata implements Admin.
func (a defectiveAdmin) Metadata(ctx context.Context, topics ...string) (kadm.Metadata, error) {
	a.in.meet("metadata of " + named(topics))
	return a.Admin.Metadata(ctx, topics...)
}

// ListEndOffsets implements Admin.
func (a defectiveAdmin) ListEndOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	a.in.meet("ends of " + named(topics))
	return a.Admin.ListEndOffsets(ctx, topics...)
}

// ListStartOffsets implements Admin.
func (a defectiveAdmin) ListStartOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	a.in.meet("starts of " + named(topics))
	return a.Admin.ListStartOffsets(ctx, topics...)
}

// ListCommittedOffsets implements Admin.
func (a defectiveAdmin) ListCommittedOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	a.in.meet("decided of " + named(topics))
	return a.Admin.ListCommittedOffsets(ctx, topics...)
}

func named(topics []string) string {
	if len(topics) == 0 {
		return "all"
	}
	return slices.Min(topics)
}

// passes waits until something is so.
func (r *rig) passes(what string, is func() bool) {
	r.t.Helper()
	for range 6000 {
		if is() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	r.t.Fatalf("within a minute it did not happen: %s", what)
}

// A defect that the router meets while it reads for all partitions ends their tenures,
// as what they were handed may have a gap, and no process: all are owned again, and
// what was fetched is decided.
func TestAPanicOfTheRouterEndsTenuresOnly(t *testing.T) {
	for _, call := range []string{"poll", "pause", "remove"} {
		t.Run(call, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				var shared *defectiveShared
				r.over = func(c Cluster) Cluster { shared = newDefectiveShared(c); return shared }
				r.settings.QueueRecords = 1
				s := r.start("a", 0, 1, 2, 3)
				defer s.leave()
				owned := func() bool {
					return !slices.ContainsFunc(s.owners, func(o *Owner) bool { return o.Status().State != Owning })
				}
				r.passes("all are owned", owned)
				shared.arm(call)
				p := r.partitionOf("w")
				if call == "remove" {
					s.owners[p].Lose()
					s.owners[p] = s.Own(context.Background(), p)
				}
				if got := r.do("w", "start", `{"definition":"counter"}`); got.Refusal != nil {
					t.Errorf("the start got %+v", got.Refusal)
				}
				if !shared.fallen() {
					t.Fatal("nothing has fallen")
				}
				r.passes("all are owned again", func() bool {
					return owned() && !slices.ContainsFunc(s.owners, func(o *Owner) bool { return o.Status().Epoch < 2 })
				})
				if got := r.do("w", "input", `{"input":7}`); got.Refusal != nil {
					t.Errorf("behind it an input got %+v", got.Refusal)
				}
				r.query("w")
			})
		})
	}
}

// The reading of one partition begins at the defect, that of others is asked for then.
func TestAPanicWhereReadingsBeginLosesNone(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.over = func(c Cluster) Cluster {
			shared := newDefectiveShared(c)
			shared.arm("add")
			return shared
		}
		s := r.start("a", 0, 1, 2, 3)
		defer s.leave()
		for i := range int32(4) {
			r.sendAs("to"+string('0'+i), i, r.workflowOf(i), "start", `{"definition":"counter"}`)
		}
		for i := range int32(4) {
			if got := r.reply("to"+string('0'+i), 1); got.Refusal != nil {
				t.Errorf("in partition %d a start got %+v", i, got.Refusal)
			}
		}
	})
}

// workflowOf is the name of a workflow of a partition.
func (r *rig) workflowOf(p int32) string {
	for name := "w"; ; name += "w" {
		if r.partitionOf(name) == p {
			return name
		}
	}
}

// A defect of what looks something up for all partitions of a process is a question that failed: it
// is asked again.
func TestAPanicOfALookUpIsAQuestionThatFailed(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(r *rig) string
	}{
		{"queues", func(*rig) string { return "metadata of all" }},
		{"clock", func(r *rig) string { return "metadata of " + r.names.Inbox() }},
		{"ends", func(r *rig) string { return "ends of " + r.names.Commands() }},
		{"a queue", func(r *rig) string { return "starts of " + r.names.Tasks("default") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				var shared *defectiveShared
				r.over = func(in Cluster) Cluster {
					shared = newDefectiveShared(in)
					shared.arm(c.call(r))
					return shared
				}
				p := r.partitionOf("w")
				s := r.start("a", p)
				defer s.leave()
				r.do("w", "start", `{"definition":"counter"}`)
				r.do("w", "input", `{"input":7}`)
				r.query("w")
				r.passes("it falls", shared.fallen)
				r.adder()
				if sum := r.settled("w"); sum != 7 {
					t.Errorf("the sum is %d, want 7", sum)
				}
				if at := s.owners[0].Status(); at.State != Owning || at.Epoch != 1 {
					t.Errorf("the partition is %+v", at)
				}
			})
		})
	}
}

// A defect of what an owner has found out beside its loop ends its tenure.
func TestAPanicBesideTheLoopEndsATenure(t *testing.T) {
	inBubble(t, func(r *rig) {
		var shared *defectiveShared
		r.over = func(c Cluster) Cluster { shared = newDefectiveShared(c); return shared }
		s := r.start("a", r.partitionOf("w"))
		defer s.leave()
		r.do("w", "start", `{"definition":"counter"}`)
		shared.arm("decided of " + r.names.Journal())
		r.passes("it falls, and the partition is owned again", func() bool {
			at := s.owners[0].Status()
			return shared.fallen() && at.State == Owning && at.Epoch == 2
		})
		r.do("w", "input", `{"input":7}`)
	})
}

// due reports whether a call is the one that is to fall, once.
func (c *defectiveShared) due(call string) bool {
	at := c.falls.Load()
	return at != nil && *at == call && c.falls.CompareAndSwap(at, nil)
}

// Journals implements Cluster.
func (c *defectiveShared) Journals() (Producer, error) {
	p, err := c.Cluster.Journals()
	return defectiveProducer{p, c, "journal"}, err
}

// Effects implements Cluster.
func (c *defectiveShared) Effects() (Producer, error) {
	p, err := c.Cluster.Effects()
	return defectiveProducer{p, c, "effects"}, err
}

// Summaries implements Cluster.
func (c *defectiveShared) Summaries() (Producer, error) {
	p, err := c.Cluster.Summaries()
	return defectiveProducer{p, c, "summaries"}, err
}

// defectiveProducer meets a defect with an answer, which has no record then, or where
// a summary is sent by the timer.
type defectiveProducer struct {
	Producer
	in   *defectiveShared
	name string
}

// Produce implements Producer.
func (p defectiveProducer) Produce(ctx context.Context, k *kgo.Record, done func(*kgo.Record, error)) {
	if at := p.in.falls.Load(); at != nil && *at == "timer of "+p.name && strings.Contains(string(debug.Stack()), "flushDue") {
		p.in.meet(*at)
	}
	p.Producer.Produce(ctx, k, func(k *kgo.Record, err error) {
		if p.in.due("answer of " + p.name) {
			k = nil
		}
		done(k, err)
	})
}

// A defect that an answer of the clients of all partitions brings out, in a goroutine
// of theirs, or the timer of waiting summaries, ends the tenure that it is for, and no
// process: nothing that was to go out is missing.
func TestAPanicOfAnAnswerEndsATenure(t *testing.T) {
	for _, call := range []string{"answer of journal", "answer of effects", "answer of summaries", "timer of summaries"} {
		t.Run(call, func(t *testing.T) {
			inBubbleOf(t, 2, func(r *rig) {
				var shared *defectiveShared
				r.over = func(c Cluster) Cluster { shared = newDefectiveShared(c); return shared }
				told := make(chan string, 1000)
				r.tail(r.names.Status(), func(k *kgo.Record) { told <- string(k.Key) })
				s := r.start("a", 0, 1)
				defer s.leave()
				r.passes("both are owned", func() bool {
					return s.owners[0].Status().State == Owning && s.owners[1].Status().State == Owning
				})
				var all []string
				for w := r.workflowOf(0); len(all) < 2*statusesAtOnce; w += "w" {
					if r.partitionOf(w) == 0 {
						all = append(all, w)
						r.do(w, "start", `{"definition":"counter"}`)
					}
				}
				shared.arm(call)
				for _, w := range all {
					r.send(w, "input", `{"input":7}`)
				}
				r.adder()
				r.passes("it falls, and the partition is owned again", func() bool {
					at := s.owners[0].Status()
					return shared.fallen() && at.State == Owning && at.Epoch == 2
				})
				for _, w := range all {
					if sum := r.settled(w); sum != 7 {
						t.Errorf("the sum of %s is %d, want 7", w, sum)
					}
				}
				missing := map[string]bool{}
				for _, w := range all {
					missing[w] = true
				}
				for len(missing) > 0 {
					select {
					case w := <-told:
						delete(missing, w)
					case <-time.After(time.Minute):
						t.Fatalf("of %d workflows no summary is out", len(missing))
					}
				}
				if at := s.owners[1].Status(); at.State != Owning || at.Epoch != 1 {
					t.Errorf("the other partition is %+v", at)
				}
				if n := s.Stats.Defects.Load(); n != 1 {
					t.Errorf("%d defects were counted, want 1", n)
				}
			})
		})
	}
}
