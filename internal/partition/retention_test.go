package partition

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
)

// empty lets retention take all that a journal has.
func (r *rig) empty(p int32) {
	r.t.Helper()
	r.purge(r.names.Journal(), p, r.end(r.names.Journal(), p))
}

// What is checkpointed may expire, to the last record and the control record behind it: with
// the store that has it, and without any.
func TestAJournalThatRetentionEmptiedBlocksNobody(t *testing.T) {
	stories := map[string]struct {
		live func(r *rig, p int32) (sum int64)
		end  func(s *site)
	}{
		"left":                        {(*rig).worked, (*site).leave},
		"killed":                      {(*rig).worked, (*site).kill},
		"left, idle since takeover":   {(*rig).idled, (*site).leave},
		"killed, idle since takeover": {(*rig).idled, (*site).kill},
		"killed, an older owner wrote behind the takeover": {(*rig).haunted, (*site).kill},
	}
	for name, story := range stories {
		for _, next := range []string{"a", "b"} {
			t.Run(fmt.Sprintf("%s, then %s", name, next), func(t *testing.T) {
				inBubble(t, func(r *rig) {
					p := r.partitionOf("w")
					r.adder()
					a := r.start("a", p)
					a.await(Owning)
					sum := story.live(r, p)
					<-time.After(30 * time.Second)
					story.end(a)
					r.empty(p)
					b := r.start(next, p)
					defer b.leave()
					b.await(Owning)
					if sum > 0 && r.settled("w") != sum {
						t.Errorf("sum is %d, want %d", r.settled("w"), sum)
					}
				})
			})
		}
	}
}

func (r *rig) worked(int32) int64 {
	r.counted("w", 3)
	return r.settled("w")
}

func (r *rig) idled(int32) int64 { return 0 }

// haunted lets a deposed owner append behind the takeover: what it says is void.
func (r *rig) haunted(p int32) int64 {
	rec := &events.Record{Position: events.Position{Epoch: 7, Seq: 9}, Events: []events.Event{&events.AuthorityReleased{}}}
	r.must(r.producer.ProduceSync(context.Background(), journal.Encode(rec, r.names, p)).FirstErr())
	return 0
}

// What expired before any checkpoint had it is lost: the partition stays blocked,
// and the store that may have it is kept.
func TestAJournalThatRetentionTookTooMuchOfBlocksThePartition(t *testing.T) {
	for _, next := range []string{"a", "b"} {
		t.Run(next, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				var away atomic.Bool
				r.over = func(c Cluster) Cluster { return uncheckpointed{c, &away} }
				p := r.partitionOf("w")
				r.adder()
				a := r.start("a", p)
				r.counted("w", 3)
				r.settled("w")
				<-time.After(30 * time.Second)
				away.Store(true)
				r.do("w", "input", `{"input": 7}`)
				r.settled("w")
				a.loseAll()
				away.Store(false)
				r.empty(p)
				b := r.start(next, p)
				defer b.loseAll()
				b.await(Blocked)
				<-time.After(20 * time.Second)
				b.await(Blocked)
				names, err := r.fs.List(fmt.Sprintf("a-%d", p))
				if err != nil || len(names) == 0 {
					t.Errorf("of the store is left %v, %v", names, err)
				}
			})
		})
	}
}

func TestACheckpointFitsAJournalThatHasWhatItNeeds(t *testing.T) {
	at := func(seq uint64, offset int64) journal.Mark {
		return journal.Mark{Position: events.Position{Epoch: 1, Seq: seq}, Offset: offset}
	}
	for name, c := range map[string]struct {
		m          *marker
		start, end int64
		fits       bool
	}{
		"no checkpoint, nothing expired":          {nil, 0, 9, true},
		"no checkpoint, something expired":        {nil, 1, 9, false},
		"the next record is there":                {&marker{Applied: at(4, 5), ReplayFrom: at(4, 5)}, 6, 6, true},
		"the next record may have expired":        {&marker{Applied: at(4, 5), ReplayFrom: at(4, 5)}, 7, 7, false},
		"what is covered expired":                 {&marker{Applied: at(4, 5), ReplayFrom: at(4, 5), Covered: 8}, 8, 8, true},
		"more than is covered expired":            {&marker{Applied: at(4, 5), ReplayFrom: at(4, 5), Covered: 8}, 9, 9, false},
		"the journal ends before what is known":   {&marker{Applied: at(4, 5), ReplayFrom: at(4, 5)}, 0, 5, false},
		"it ends before what is covered":          {&marker{Applied: at(4, 5), ReplayFrom: at(4, 5), Covered: 8}, 0, 7, false},
		"a dirty workflow needs what is there":    {&marker{Applied: at(4, 5), ReplayFrom: at(2, 3), Covered: 8}, 4, 8, true},
		"a dirty workflow needs what expired":     {&marker{Applied: at(4, 5), ReplayFrom: at(2, 3), Covered: 8}, 5, 8, false},
		"a dirty workflow needs the first record": {&marker{Applied: at(4, 5)}, 1, 8, false},
	} {
		r := &tenure{o: &Owner{}, span: span{c.start, c.end}}
		if err := r.fits(c.m); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The end that an idle journal had says nothing once the owner has gone on.
func TestAnOldEndCoversNothing(t *testing.T) {
	first, second := events.Position{Epoch: 1, Seq: 1}, events.Position{Epoch: 1, Seq: 2}
	c := &checkpointer{at: first}
	if c.learnCovered(first, first, 9); c.covered != 9 {
		t.Errorf("an idle journal is covered to %d, want 9", c.covered)
	}
	if c.learnCovered(second, first, 10); c.covered != 9 {
		t.Errorf("with a record in flight it is covered to %d", c.covered)
	}
	c.at = second
	if c.learnCovered(second, first, 11); c.covered != 9 {
		t.Errorf("behind another record it is covered to %d", c.covered)
	}
}

// A store of an owner that had nothing to read yet has nothing to prove either: it
// is no reason to read a journal that begins later from its first record.
func TestO4AStoreWithoutAnythingIsNotProvenByAJournalThatBeginsLater(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		blank := r.start("b")
		r.must(blank.Recover(context.Background(), p))
		blank.loseAll()
		a := r.start("a", p)
		r.counted("w", 3)
		sum := r.settled("w")
		<-time.After(30 * time.Second)
		a.leave()
		r.empty(p)
		b := r.start("b", p)
		defer b.leave()
		b.await(Owning)
		if got := r.settled("w"); got != sum {
			t.Errorf("sum is %d, want %d", got, sum)
		}
	})
}
