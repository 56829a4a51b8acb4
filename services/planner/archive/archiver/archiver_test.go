package archiver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
)

// committed is how far the group has the journal.
func (r *rig) committed() int64 {
	r.t.Helper()
	all, err := kadm.NewClient(r.Admin(r.t)).FetchOffsets(r.ctx, r.Topics.ArchiverGroup())
	if err != nil {
		return -1
	}
	at, ok := all.Lookup(r.Topics.Journal(), 0)
	if !ok {
		return -1
	}
	return at.At
}

// A run that closes is in the store with all its records, its planner hears of it, and what is archived is committed; a living one
// is not written, and the journal is not given up from its beginning on.
func TestClosedRunsAreArchived(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	r.starts("b")
	r.archiver(nil)
	r.ends("a")
	r.hears(1)
	r.is("a", "completed")
	if item, _, _ := r.run("b"); item.ID != "" {
		t.Fatalf("the store has %+v of a living run", item)
	}
	r.comes("the place before b is committed", func() bool { return r.committed() == 2 })
	r.ends("b")
	r.hears(2)
	r.is("b", "completed")
	r.comes("all is committed", func() bool { return r.committed() == int64(len(r.list)) })
}

// A run whose end is read again because an older one lives is where it was, and the older one is archived behind it.
func TestAnEndThatIsReadAgainHoldsNothing(t *testing.T) {
	r := newRig(t)
	r.starts("b")
	r.starts("a")
	stop := r.archiver(nil)
	r.ends("b")
	r.hears(1)
	r.comes("the place before a is committed", func() bool { return r.committed() == 2 })
	stop()
	r.archiver(nil)
	r.ends("a")
	r.hears(2)
	r.comes("all is committed", func() bool { return r.committed() == int64(len(r.list)) })
	r.is("a", "completed")
	r.is("b", "completed")
}

// Killed before any step that leaves something, the archiver goes on behind it: each record is in the store once, and
// each planner hears of its run.
func TestAnArchiverThatIsKilledAnywhereGoesOn(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	var steps []string
	stop := r.archiver(func(c *Config) {
		c.before = func(step string) error { steps = append(steps, step); return nil }
	})
	r.ends("a")
	r.hears(1)
	r.comes("all is committed", func() bool { return r.committed() == int64(len(r.list)) })
	stop()
	if len(steps) < 6 {
		t.Fatalf("the steps are %v", steps)
	}
	for kill := range steps {
		id := fmt.Sprintf("k%d", kill)
		r.starts(id)
		var at atomic.Int64
		stop := r.archiver(func(c *Config) {
			c.before = func(string) error {
				if at.Add(1) == int64(kill)+1 {
					return errKilled
				}
				return nil
			}
		})
		r.ends(id)
		r.hears(kill + 2)
		r.comes("all is committed", func() bool { return r.committed() == int64(len(r.list)) })
		stop()
		r.is(id, "completed")
	}
}

// Where living runs are kept, too, they are written at each checkpoint, and go on where they were after a restart.
func TestLivingRunsAreArchived(t *testing.T) {
	r := newRig(t)
	all := func(c *Config) { c.Settings.All = true }
	stop := r.archiver(all)
	r.starts("a")
	r.comes("its beginning is archived", func() bool { item, _, _ := r.run("a"); return item.Labels["status"] == "running" })
	r.comes("it is committed", func() bool { return r.committed() == int64(len(r.list)) })
	stop()
	r.command("a", "pause", `{}`)
	r.command("a", "resume", `{}`)
	stop = r.archiver(all)
	r.comes("what came meanwhile is archived", func() bool { item, _, _ := r.run("a"); return item.End == 3 })
	stop()
	r.ends("a")
	r.archiver(all)
	r.hears(1)
	r.is("a", "completed")
}

// What holds the journal back for too long is written though it lives.
func TestALivingRunDoesNotHoldTheJournal(t *testing.T) {
	r := newRig(t)
	r.starts("old")
	r.archiver(func(c *Config) { c.Settings.Records = 5 })
	for i := range 8 {
		r.starts(fmt.Sprintf("w%d", i))
	}
	r.comes("it is passed by", func() bool { return r.committed() > 1 })
	r.ends("old")
	r.hears(1)
	r.is("old", "completed")
}

// sick is a store that fails as it is told.
type sick struct {
	store.Store
	mu   sync.Mutex
	fail func(operation string) (before, after error)
}

func (s *sick) tell(operation string) (before, after error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		return nil, nil
	}
	return s.fail(operation)
}

func (s *sick) do(operation string, f func() error) error {
	before, after := s.tell(operation)
	if before != nil {
		return before
	}
	return errors.Join(f(), after)
}

func (s *sick) Append(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
	return s.do("append", func() error { return s.Store.Append(ctx, id, at, epoch, entries) })
}

func (s *sick) SaveSnapshot(ctx context.Context, id string, epoch uint64, snap store.Snapshot) error {
	return s.do("save", func() error { return s.Store.SaveSnapshot(ctx, id, epoch, snap) })
}

func (s *sick) Load(ctx context.Context, id string, from uint64) (log store.Log, err error) {
	err = s.do("load", func() error { log, err = s.Store.Load(ctx, id, from); return err })
	return log, err
}

// A store that refuses, or whose answers are lost when it has written, delays the archive and loses nothing; nobody is told
// of what is not there.
func TestAStoreThatFailsLosesNothing(t *testing.T) {
	for name, lost := range map[string]bool{"it refuses": false, "its answers are lost": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := &sick{Store: r.store}
			calls := 0
			s.fail = func(string) (before, after error) {
				if calls++; calls%3 != 0 || calls > 12 {
					return nil, nil
				}
				if err := errors.New("the disk is on fire"); !lost {
					return err, nil
				} else {
					return nil, err
				}
			}
			for i := range 4 {
				r.starts(fmt.Sprintf("w%d", i))
			}
			r.archiver(func(c *Config) { c.Store = s })
			for i := range 4 {
				r.ends(fmt.Sprintf("w%d", i))
			}
			r.hears(4)
			for i := range 4 {
				r.is(fmt.Sprintf("w%d", i), "completed")
			}
			r.comes("all is committed", func() bool { return r.committed() == int64(len(r.list)) })
		})
	}
}

// An archiver that was thought dead cannot write any more once another one has the partition.
func TestAnArchiverThatWakesUpIsFenced(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	hangs, wake := make(chan struct{}), make(chan struct{})
	var once sync.Once
	stop := r.archiver(func(c *Config) {
		c.before = func(step string) error {
			if step == "append" {
				once.Do(func() { close(hangs); <-wake })
			}
			return nil
		}
	})
	r.ends("a")
	<-hangs
	a := &Archiver{cfg: Config{Name: "other"}, store: r.store}
	var err error
	a.topic, err = topicID(r.ctx, r.Admin(t), r.Topics.Journal())
	r.must(err)
	other := &tenure{a: a}
	_, err = other.claim(r.ctx)
	r.must(err)
	r.must(r.store.Append(r.ctx, archive.RunID(archive.Run{Workflow: "a", Start: r.position(1), Journal: a.journalName()}), 0, other.epoch, nil))
	close(wake)
	r.hears(1) // by its next tenure, whose epoch is above the other's
	stop()
	item, _, _ := r.run("a")
	if item.Epoch <= other.epoch {
		t.Fatalf("the run was written in epoch %d, and %d was taken before", item.Epoch, other.epoch)
	}
	r.is("a", "completed")
}

// A deletion ends the log of a run, and what is started under its ID has one of its own.
func TestDeletedRunsEndTheirLogs(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	r.archiver(nil)
	r.command("a", "delete", `{"force":true}`)
	r.starts("a")
	r.ends("a")
	r.hears(1)
	page, err := r.store.List(r.ctx, store.Filter{Prefix: archive.RunsOf("a")}, "")
	r.must(err)
	if len(page.Items) != 2 || page.Items[0].Labels["status"] != "cancelled" || page.Items[1].Labels["status"] != "completed" {
		t.Fatalf("the runs of a are %+v", page.Items)
	}
}

// Many runs are written at a time.
func TestManyRunsAreArchived(t *testing.T) {
	r := newRig(t)
	for i := range 200 {
		id := fmt.Sprintf("w%d", i)
		r.starts(id)
		r.ends(id)
	}
	r.archiver(nil)
	r.hears(200)
	for i := range 200 {
		r.is(fmt.Sprintf("w%d", i), "completed")
	}
}

// Of a run that is over and forgotten the archive keeps what it came to, whatever is said to it since.
func TestWhatIsSaidToAClosedRunIsAdded(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	stop := r.archiver(nil)
	r.ends("a")
	r.hears(1)
	r.comes("all is committed", func() bool { return r.committed() == int64(len(r.list)) })
	stop()
	r.command("a", "signal", `{"name":"go"}`) // which is refused
	r.archiver(func(c *Config) { c.Settings.Age = 1 })
	r.comes("the refusal is archived", func() bool { item, _, _ := r.run("a"); return item.End == 3 && item.SnapshotAt == 3 })
	r.is("a", "completed")
}
