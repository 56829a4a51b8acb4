package partition

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/runtime"
)

// memberless is a cluster whose groups take positions of anybody, unless the
// coordinator is away: then they take none and tell none.
type memberless struct {
	Cluster
	mu    sync.Mutex
	away  bool
	stops bool // positions are refused as those of no member
}

func (c *memberless) set(away, stops bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away, c.stops = away, stops
}

func (c *memberless) is() (away, stops bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.away, c.stops
}

func (c *memberless) Txn(p int32) (Txn, error) {
	t, err := c.Cluster.Txn(p)
	return &memberlessTxn{t, c}, err
}

func (c *memberless) Admin() (Admin, error) {
	a, err := c.Cluster.Admin()
	return &awayAdmin{a, c}, err
}

type memberlessTxn struct {
	Txn
	c *memberless
}

func (t *memberlessTxn) Run(ctx context.Context, records []*kgo.Record, commit *kafka.Commit) error {
	if commit != nil {
		if _, stops := t.c.is(); stops {
			return &kafka.TxnError{Outcome: kafka.NotMember, Err: fmt.Errorf("member %s is none", commit.Member)}
		}
		anybody := *commit
		anybody.Member, anybody.Generation = "", -1
		commit = &anybody
	}
	return t.Txn.Run(ctx, records, commit)
}

type awayAdmin struct {
	Admin
	c *memberless
}

func (a *awayAdmin) FetchOffsets(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	if away, _ := a.c.is(); away {
		<-ctx.Done()
		return nil, fmt.Errorf("the coordinator of %s is away: %w", group, ctx.Err())
	}
	return a.Admin.FetchOffsets(ctx, group)
}

// cursors is a partition that commits its cursor, and what is published of it.
type cursors struct {
	*rig
	c    *memberless
	said *lines
	sum  int64 // of what w was given

	record runtime.Record // the newest, under mu
}

// overCursors runs a test over one partition whose checkpoints commit positions. A
// first owner has taken commands and left.
func overCursors(t *testing.T, f func(r *cursors)) {
	t.Helper()
	inBubbleOf(t, 1, func(r *rig) {
		x := &cursors{rig: r, c: &memberless{}, said: &lines{}}
		r.settings = loop.Settings{Lease: 4 * time.Second}
		r.member, r.logger = "member", slog.New(x.said)
		r.over = func(all Cluster) Cluster { x.c.Cluster = all; return x.c }
		r.tail(r.names.Authority(), func(k *kgo.Record) {
			r.mu.Lock()
			defer r.mu.Unlock()
			x.record = runtime.Record{}
			if err := json.Unmarshal(k.Value, &x.record); err != nil {
				t.Errorf("a published record cannot be read: %v", err)
			}
		})
		r.adder()
		x.ownedAWhile()
		f(x)
	})
}

// ownedAWhile lets an owner serve a while, and returns what it has published before it
// left.
func (r *cursors) ownedAWhile() runtime.Record {
	r.t.Helper()
	s := r.start("a", 0)
	s.await(Owning)
	if r.sum == 0 {
		r.do("w", "start", `{"definition":"counter"}`)
	}
	r.do("w", "input", `{"input":1}`)
	r.sum++
	<-time.After(3 * time.Second)
	r.mu.Lock()
	rec := r.record
	r.mu.Unlock()
	s.leave()
	return rec
}

func (r *cursors) admin() *kadm.Client {
	cl, err := kafka.NewAdmin(r.cluster.Config)
	r.must(err)
	r.t.Cleanup(func() { r.cluster.Close(cl) })
	return kadm.NewClient(cl)
}

// committed is what the group has of a topic; nowhere: nothing.
func (r *cursors) committed(topic string) int64 {
	r.t.Helper()
	all, err := r.admin().FetchOffsets(context.Background(), r.names.PlannerGroup())
	r.must(err)
	if o, ok := all.Lookup(topic, 0); ok {
		return o.At
	}
	return nowhere
}

// reset is what somebody with a tool does to the group's offset of a topic.
func (r *cursors) reset(topic string, at int64) {
	r.t.Helper()
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, at, -1)
	r.must(r.admin().CommitAllOffsets(context.Background(), r.names.PlannerGroup(), offsets))
}

// delete deletes the committed offset of a topic, as an operator may.
func (r *cursors) delete(topic string) {
	r.t.Helper()
	_, err := r.admin().DeleteOffsets(context.Background(), r.names.PlannerGroup(), kadm.TopicsSet{topic: {0: {}}})
	r.must(err)
	if at := r.committed(topic); at != nowhere {
		r.t.Fatalf("%s is deleted and still at %d", topic, at)
	}
}

// blocked is what the newest record says that blocks the partition.
func (r *cursors) blocked() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record.Blocked == nil {
		return ""
	}
	return *r.record.Blocked
}

// noted are the notes about the committed cursor.
func noted(rec runtime.Record) (all []string) {
	for _, n := range rec.Notes {
		if strings.HasPrefix(n, CursorDiffers) || strings.HasPrefix(n, CursorUnknown) {
			all = append(all, n)
		}
	}
	return all
}

// The published cursor is the committed one, and the next owner finds that it is that
// of the checkpoint.
func TestTheCommittedCursorIsTheOneThatIsPublished(t *testing.T) {
	overCursors(t, func(r *cursors) {
		for range 2 {
			rec := r.ownedAWhile()
			if n := noted(rec); n != nil {
				t.Errorf("nobody has touched the offsets: %q", n)
			}
		}
		<-time.After(time.Second) // what was written last is read
		r.mu.Lock()
		last := r.record
		r.mu.Unlock()
		want := r.names.Journal() + "/0@" + strconv.FormatInt(r.committed(r.names.Journal()), 10)
		if last.Replay.Cursor == nil || *last.Replay.Cursor != want {
			t.Errorf("the published cursor is %v, want %s", last.Replay.Cursor, want)
		}
		if n := r.said.count(CursorDiffers) + r.said.count(CursorUnknown); n != 0 {
			t.Errorf("the log has %d warnings", n)
		}
	})
}

// A tool that moves or deletes committed offsets moves no owner: both values are shown, and
// the journal has the last word.
func TestACommittedCursorThatWasMovedIsShownAndNotObeyed(t *testing.T) {
	overCursors(t, func(r *cursors) {
		commands, inbox, journal := r.names.Commands(), r.names.Inbox(), r.names.Journal()
		had := r.committed(inbox)
		r.reset(commands, r.committed(commands)+7)
		r.delete(inbox)
		r.reset(journal, 0)
		at := r.committed(commands)
		got := noted(r.ownedAWhile())
		if len(got) != 1 {
			t.Fatalf("%q is shown, want one note", got)
		}
		for _, want := range []string{
			fmt.Sprintf("%s/0 is committed at offset %d, the checkpoint has offset %d", commands, at, at-7),
			fmt.Sprintf("%s/0 is committed at no offset, the checkpoint has offset %d", inbox, had),
			fmt.Sprintf("%s/0 is committed at offset 0, the checkpoint has offset ", journal),
		} {
			if !strings.Contains(got[0], want) {
				t.Errorf("the note does not say %q: %s", want, got[0])
			}
		}
		if n := r.said.count(CursorDiffers); n != 1 {
			t.Errorf("the log has it %d times", n)
		}
		if n := noted(r.ownedAWhile()); n != nil {
			t.Errorf("the next checkpoint has committed offsets again: %q", n)
		}
		s := r.start("a", 0)
		defer s.leave()
		if sum := r.settled("w"); sum != r.sum {
			t.Errorf("the sum is %d, want %d", sum, r.sum)
		}
	})
}

// A checkpoint that went without positions explains older ones.
func TestACheckpointWithoutPositionsExplainsOlderOnes(t *testing.T) {
	overCursors(t, func(r *cursors) {
		before := r.committed(r.names.Commands())
		r.c.set(false, true)
		r.ownedAWhile()
		if at := r.committed(r.names.Commands()); at != before {
			t.Fatalf("commands is committed at %d, want %d as before", at, before)
		}
		rec := r.ownedAWhile()
		if n := noted(rec); n != nil {
			t.Errorf("the checkpoint went without positions, and yet: %q", n)
		}
		want := r.names.Journal() + "/0@" + strconv.FormatInt(r.committed(r.names.Journal()), 10)
		if rec.Replay.Cursor == nil || *rec.Replay.Cursor != want {
			t.Errorf("the published cursor is %v, want the committed one, %s", rec.Replay.Cursor, want)
		}
	})
}

// A coordinator that is away holds no recovery up for longer than a lease, and that the
// cursor was not compared is shown.
func TestARecoveryDoesNotWaitLongForAnAbsentCoordinator(t *testing.T) {
	overCursors(t, func(r *cursors) {
		r.c.set(true, true)
		began := time.Now()
		s := r.start("a", 0)
		s.await(Owning)
		if took := time.Since(began); took >= r.settings.Lease {
			t.Errorf("the recovery took %v", took)
		}
		r.do("w", "input", `{"input":1}`)
		<-time.After(3 * time.Second)
		r.mu.Lock()
		rec := r.record
		r.mu.Unlock()
		s.leave()
		if n := noted(rec); len(n) != 1 || !strings.Contains(n[0], "is away") || rec.Replay.Cursor != nil {
			t.Errorf("the notes are %q and the cursor is %v, want one note and none", rec.Notes, rec.Replay.Cursor)
		}
	})
}

// A journal that ends before a committed offset of it is one that ends before a known
// position: nothing is repaired, until somebody says that the offset means nothing.
func TestAJournalThatEndsBeforeTheCommittedCursorBlocks(t *testing.T) {
	overCursors(t, func(r *cursors) {
		r.reset(r.names.Journal(), 1000)
		s := r.start("a", 0)
		defer s.leave()
		at := s.await(Blocked)
		if !strings.Contains(at.Why, "has committed offset 1000") {
			t.Errorf("blocked by %q", at.Why)
		}
		<-time.After(3 * time.Second)
		if said := r.blocked(); said != at.Why {
			t.Errorf("published as blocked by %q, want %q", said, at.Why)
		}
		r.delete(r.names.Journal())
		s.await(Owning)
		<-time.After(3 * time.Second)
		if said := r.blocked(); said != "" {
			t.Errorf("an owned partition is published as blocked by %q", said)
		}
	})
}
