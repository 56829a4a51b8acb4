package partition

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// clocks is a cluster of several brokers, each of which leads some partitions of the
// inbox and has a clock of its own.
type clocks struct {
	Cluster
	inbox    string
	commands string          // "": the clocks stamp nothing there
	off      []time.Duration // by broker
}

func (c clocks) leader(partition int32) int32 { return partition % int32(len(c.off)) }

// Admin implements Cluster.
func (c clocks) Admin() (Admin, error) {
	adm, err := c.Cluster.Admin()
	return clocksAdmin{adm, c}, err
}

// Logs implements Cluster.
func (c clocks) Logs() (LogReader, error) {
	logs, err := c.Cluster.Logs()
	return clocksLogs{logs, c}, err
}

type clocksAdmin struct {
	Admin
	c clocks
}

// Metadata implements Admin.
func (a clocksAdmin) Metadata(ctx context.Context, topics ...string) (kadm.Metadata, error) {
	m, err := a.Admin.Metadata(ctx, topics...)
	for p, d := range m.Topics[a.c.inbox].Partitions {
		d.Leader = a.c.leader(p)
		m.Topics[a.c.inbox].Partitions[p] = d
	}
	return m, err
}

type clocksLogs struct {
	LogReader
	c clocks
}

// PollFetches implements LogReader.
func (l clocksLogs) PollFetches(ctx context.Context) kgo.Fetches {
	fetches := l.LogReader.PollFetches(ctx)
	fetches.EachRecord(func(r *kgo.Record) {
		if r.Topic == l.c.inbox || r.Topic == l.c.commands {
			r.Timestamp = r.Timestamp.Add(l.c.off[l.c.leader(r.Partition)])
		}
	})
	return fetches
}

// With three brokers one clock may be anything. With two the one that is behind
// counts, for all planners alike; with one it is the only one.
func TestJ2OneBrokersClockStopsNothing(t *testing.T) {
	const h = time.Hour
	for name, of := range map[string]struct {
		off   []time.Duration
		stops bool
		named string // the broker that is warned of
	}{
		"one broker alone is right":           {[]time.Duration{h}, true, ""},
		"of two, the one that is ahead":       {[]time.Duration{h, 0}, false, "broker 0 is 1h0m0s ahead of"},
		"of two, the other that is ahead":     {[]time.Duration{0, h}, false, "broker 1 is 1h0m0s ahead of"},
		"of two, one that is behind counts":   {[]time.Duration{0, -h}, true, ""},
		"of three, the one that is ahead":     {[]time.Duration{h, 0, 0}, false, "broker 0 is 1h0m0s ahead of"},
		"of three, the one that is behind":    {[]time.Duration{0, -h, 0}, false, "broker 1 is 1h0m0s behind"},
		"of three, two that are ahead":        {[]time.Duration{0, h, h}, true, ""},
		"of three, two that contradict":       {[]time.Duration{-h, 0, h}, false, "broker 2 is 1h0m0s ahead of"},
		"of four, one that is ahead":          {[]time.Duration{0, 0, 0, h}, false, "broker 3 is 1h0m0s ahead of"},
		"of four, one that is behind":         {[]time.Duration{-h, 0, 0, 0}, false, "broker 0 is 1h0m0s behind"},
		"all are right within what may be so": {[]time.Duration{500 * time.Millisecond, -500 * time.Millisecond, 0}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				var said lines
				r.logger = slog.New(&said)
				r.over = func(c Cluster) Cluster { return clocks{Cluster: c, inbox: r.names.Inbox(), off: of.off} }
				p := r.partitionOf("w")
				s := r.start("a", p)
				defer s.leave()
				if of.stops {
					s.awaitClock("1h0m0s")
					return
				}
				if at := s.await(Owning); at.Epoch != 1 {
					t.Errorf("it is owned at epoch %d, want the first", at.Epoch)
				}
				for range 5 {
					<-time.After(10 * time.Second)
					r.do("w", "input", `{"input":1}`)
				}
				notes := strings.Join(s.clock.notes(), "; ")
				if want := of.named; !strings.Contains(notes, want) || want == "" && notes != "" {
					t.Errorf("it is noted that %q, want %q", notes, want)
				}
				if n := said.count("a broker's clock is wrong"); n != len(s.clock.notes()) {
					t.Errorf("%d warnings of %q, want one for each", n, notes)
				}
			})
		})
	}
}

// A broker whose clock is ahead stamps what it is sent. The next owner knows its log
// again by those stamps, whatever counts as the inputs' time: it goes on where the
// last owner stopped.
func TestJ3ALogThatABrokerAheadHasStampedIsKnownAgain(t *testing.T) {
	for name, end := range map[string]func(*site){"killed": (*site).kill, "left": (*site).leave} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				p := r.partitionOf("w")
				off := make([]time.Duration, 3)
				off[p%3] = time.Hour
				r.over = func(c Cluster) Cluster {
					return clocks{Cluster: c, inbox: r.names.Inbox(), commands: r.names.Commands(), off: off}
				}
				for instance, n := range []string{"a", "b", "c"} {
					s := r.start(n, p)
					s.await(Owning)
					r.do("w", "input", `{"input":1}`)
					r.do("w", "input", `{"input":1}`)
					end(s)
					if got := r.has(p, "InputLogTruncated"); got > 0 {
						t.Errorf("planner %d: %d times another log was found", instance, got)
					}
				}
			})
		})
	}
}
