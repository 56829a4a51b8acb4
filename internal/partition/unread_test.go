package partition

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// illegible is a cluster whose commands cannot be read, or do not tell where they end,
// while it is told so.
type illegible struct {
	Cluster
	commands string
	unread   atomic.Bool
	endless  atomic.Bool
}

func (c *illegible) Logs() (LogReader, error) {
	cl, err := c.Cluster.Logs()
	return &illegibleLogs{LogReader: cl, c: c}, err
}

func (c *illegible) Admin() (Admin, error) {
	a, err := c.Cluster.Admin()
	return endlessAdmin{a, c}, err
}

type illegibleLogs struct {
	LogReader
	c    *illegible
	kept kgo.Fetches
}

// PollFetches implements LogReader.
func (l *illegibleLogs) PollFetches(ctx context.Context) kgo.Fetches {
	if !l.c.unread.Load() && len(l.kept) > 0 {
		kept := l.kept
		l.kept = nil
		return kept
	}
	fetches := l.LogReader.PollFetches(ctx)
	hidden := false
	fetches.EachPartition(func(f kgo.FetchTopicPartition) { hidden = hidden || f.Topic == l.c.commands && len(f.Records) > 0 })
	if !hidden || !l.c.unread.Load() {
		return fetches
	}
	l.kept = append(l.kept, fetches...)
	var failed kgo.Fetches
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		at := kgo.FetchPartition{Partition: f.Partition, Err: kerr.TopicAuthorizationFailed}
		failed = append(failed, kgo.Fetch{Topics: []kgo.FetchTopic{{Topic: l.c.commands, Partitions: []kgo.FetchPartition{at}}}})
	})
	return failed
}

type endlessAdmin struct {
	Admin
	c *illegible
}

// ListEndOffsets implements Admin.
func (a endlessAdmin) ListEndOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	if a.c.endless.Load() {
		return nil, kerr.TopicAuthorizationFailed
	}
	return a.Admin.ListEndOffsets(ctx, topics...)
}

// A read whose owner cannot read on is told so, with the log, the reason and since
// when, before nobody waits for it any more; when that is over, reads are answered (E6).
func TestE6AReadWhoseOwnerCannotReadOnSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*illegible, *gate, bool)
		says []string
	}{
		"commands cannot be read": {func(c *illegible, _ *gate, on bool) { c.unread.Store(on) },
			[]string{"commands, partition ", "cannot be read since ", kerr.TopicAuthorizationFailed.Message}},
		"commands do not tell their end": {func(c *illegible, _ *gate, on bool) { c.endless.Store(on) },
			[]string{"commands, partition ", "where it ends since ", kerr.TopicAuthorizationFailed.Message}},
		"the journal hangs": {func(_ *illegible, g *gate, on bool) { g.set(on) },
			[]string{"journal, partition ", "has not taken what was decided since "}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				hides, g := &illegible{commands: r.names.Commands()}, &gate{}
				r.over = func(all Cluster) Cluster { hides.Cluster = all; return gated{hides, g} }
				s := r.start("a", r.partitionOf("w"))
				defer s.leave()
				r.do("w", "start", `{"definition":"counter"}`)
				r.query("w")
				c.set(hides, g, true)
				id := r.send("w", "input", `{"input":7}`)
				<-time.After(time.Second)
				asked := time.Now()
				reply := r.reply(r.questionWithin("w", 5*time.Second), 1)
				if took := time.Since(asked); took < 4*time.Second || took >= 5*time.Second {
					t.Errorf("it was told after %v of 5 s", took)
				}
				if reply.Refusal == nil || reply.Refusal.Code != "unavailable" {
					t.Fatalf("the read got %+v", reply)
				}
				for _, part := range c.says {
					if !strings.Contains(reply.Refusal.Message, part) {
						t.Errorf("%q says nothing of %q", reply.Refusal.Message, part)
					}
				}
				c.set(hides, g, false)
				r.reply(id, 1)
				if _, open := r.query("w"); open != 1 {
					t.Errorf("%d additions are open, want 1", open)
				}
			})
		})
	}
}
