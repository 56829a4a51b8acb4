package plannerd_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/disk"
)

// sickbed is a planner that may fall ill, beside others.
type sickbed struct {
	w     *world
	clock skewed
	disk  *disk.Disk
	reg   *prometheus.Registry
	log   lines
	*plannerd.Planner
	stop func() error
}

// skewed is a clock that is ahead by so many nanoseconds.
type skewed struct{ atomic.Int64 }

// Now implements loop.Clock.
func (c *skewed) Now() time.Time { return time.Now().Add(time.Duration(c.Load())) }

// lines counts what is logged.
type lines struct {
	slog.Handler
	left, kept atomic.Int64
}

func (l *lines) Handle(ctx context.Context, r slog.Record) error {
	switch {
	case strings.Contains(r.Message, "may leave the group"):
		l.left.Add(1)
	case strings.Contains(r.Message, "does not join the group"):
		l.kept.Add(1)
	}
	if os.Getenv("HEDDLE_TEST_LOG") != "" {
		return l.Handler.Handle(ctx, r)
	}
	return nil
}

const shortLease = 2 * time.Second

// leaves bounds the time from the beginning of a reason of its own until a planner
// with it has left: two leases and up to half of that again, a check, and the
// farewell.
const leaves = 3*shortLease + 15*time.Second

// admit starts a planner without waiting for anything.
func (w *world) admit(instance string) *sickbed {
	w.t.Helper()
	s := &sickbed{w: w, disk: disk.New(), reg: prometheus.NewRegistry()}
	s.log.Handler = slog.NewTextHandler(os.Stderr, nil)
	return s.begin(instance)
}

func (s *sickbed) begin(instance string) *sickbed {
	s.w.t.Helper()
	var err error
	s.Planner, err = plannerd.New(plannerd.Config{
		Kafka: s.w.cluster.Config, DataDir: instance, FS: s.disk, Instance: instance, Clock: &s.clock,
		TokenKey: events.Key("0123456789abcdef"), Logger: slog.New(&s.log), Registerer: s.reg,
		Partition: loop.Settings{Lease: shortLease},
	})
	if err != nil {
		s.w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	s.stop = func() error { stop(); return <-ended }
	s.w.t.Cleanup(func() {
		s.disk.Answer()
		if err := s.stop(); err != nil {
			s.w.t.Error(err)
		}
	})
	return s
}

// needs waits until the planner lacks something, or nothing.
func (s *sickbed) needs(need string) {
	s.w.t.Helper()
	s.w.until(func() bool {
		unfit, _ := s.Unfit().(*partition.UnfitError)
		return need == "" && unfit == nil || unfit != nil && unfit.Need == need
	})
	want := 0.0
	if need != "" {
		want = 1
	}
	got := 0.0
	all, err := s.reg.Gather()
	if err != nil {
		s.w.t.Fatal(err)
	}
	for _, family := range all {
		if family.GetName() == "heddle_planner_unfit" {
			for _, m := range family.GetMetric() {
				got += m.GetGauge().GetValue()
			}
		}
	}
	if got != want {
		s.w.t.Errorf("heddle_planner_unfit sums to %v, want %v", got, want)
	}
}

func (s *sickbed) member() bool {
	s.w.t.Helper()
	all, err := s.reg.Gather()
	if err != nil {
		s.w.t.Fatal(err)
	}
	for _, family := range all {
		if family.GetName() == "heddle_planner_member" {
			return family.GetMetric()[0].GetGauge().GetValue() == 1
		}
	}
	s.w.t.Fatal("the planner does not report whether it is a member")
	return false
}

// Whatever it is that a planner lacks: another one has all partitions within a
// bound, though nothing of it ends, and the planner is back once it has ended.
func TestAPlannerThatCannotServeLeavesTheGroup(t *testing.T) {
	for name, ill := range map[string]struct{ fall, heal func(*sickbed) }{
		partition.NeedsClock: {
			func(s *sickbed) { s.clock.Store(int64(time.Hour)) },
			func(s *sickbed) { s.clock.Store(0) },
		},
		partition.NeedsDisk: {
			func(s *sickbed) { s.disk.Fill(); s.flush() },
			func(s *sickbed) { s.disk.Free() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				a, b := w.admit("a"), w.admit("b")
				w.until(func() bool { return owned(a.Planner) == 2 && owned(b.Planner) == 2 })
				ill.fall(a)
				began := time.Now()
				w.until(func() bool { return owned(b.Planner) == 4 })
				if took := time.Since(began); took > leaves {
					t.Errorf("another one had all after %s, want at most %s", took, leaves)
				}
				if a.member() || len(a.Partitions()) > 0 {
					t.Errorf("the planner is a member still, with %+v", a.Partitions())
				}
				a.needs(name)
				<-time.After(5 * leaves)
				if a.member() || owned(b.Planner) != 4 {
					t.Errorf("the planner is back (%t), the other one has %d", a.member(), owned(b.Planner))
				}
				if n := a.log.left.Load() + a.log.kept.Load(); n > 2 {
					t.Errorf("%d lines tell of one state", n)
				}
				ill.heal(a)
				w.until(func() bool { return owned(a.Planner) == 2 && owned(b.Planner) == 2 })
				a.needs("")
			})
		})
	}
}

// flush makes a full disk known to what is open on it.
func (s *sickbed) flush() {
	for range 40 {
		s.w.command("flush"+time.Now().String(), "start", echo)
		<-time.After(time.Second)
	}
}

// A planner whose disk hangs, or is full, does not join; what it would have been
// given is served.
func TestAPlannerThatCannotServeDoesNotJoin(t *testing.T) {
	for name, ill := range map[string]struct {
		need       string
		fall, heal func(*sickbed)
	}{
		"a clock that is behind": {partition.NeedsClock, func(s *sickbed) { s.clock.Store(int64(-time.Hour)) }, func(s *sickbed) { s.clock.Store(0) }},
		"a disk that is full":    {partition.NeedsDisk, func(s *sickbed) { s.disk.Fill() }, func(s *sickbed) { s.disk.Free() }},
		"a disk that hangs":      {partition.NeedsDisk, func(s *sickbed) { s.disk.Hang() }, func(s *sickbed) { s.disk.Answer() }},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				b := w.admit("b")
				w.until(func() bool { return owned(b.Planner) == 4 })
				a := &sickbed{w: w, disk: disk.New(), reg: prometheus.NewRegistry()}
				a.log.Handler = slog.NewTextHandler(os.Stderr, nil)
				ill.fall(a)
				a.begin("a")
				a.needs(ill.need)
				<-time.After(time.Minute)
				if a.member() || owned(b.Planner) != 4 {
					t.Errorf("it is a member: %t, the other one has %d", a.member(), owned(b.Planner))
				}
				select {
				case <-a.Ready():
					t.Error("it calls itself ready")
				default:
				}
				ill.heal(a)
				w.until(func() bool { return owned(a.Planner) == 2 && owned(b.Planner) == 2 })
				a.needs("")
			})
		})
	}
}

// A planner whose store's directory is locked by another process leaves what it
// cannot serve to others; where there is no other, it serves what it can.
func TestAPlannerWithALockedStoreLeavesItToOthers(t *testing.T) {
	inWorld(t, func(w *world) {
		a := &sickbed{w: w, disk: disk.New(), reg: prometheus.NewRegistry()}
		a.log.Handler = slog.NewTextHandler(os.Stderr, nil)
		s, err := store.Open(store.Options{Dir: "a/partition-1", FS: a.disk})
		if err != nil {
			t.Fatal(err)
		}
		a.begin("a")
		a.needs(partition.NeedsStore)
		w.until(func() bool { return owned(a.Planner) == 3 })
		b := w.admit("b")
		w.until(func() bool { return owned(b.Planner) == 4 })
		if a.member() {
			t.Error("it is a member still")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		w.until(func() bool { return owned(a.Planner) == 2 && owned(b.Planner) == 2 })
	})
}
