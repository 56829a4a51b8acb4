package journal_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
)

const partition = 1

// log is a journal partition on an embedded broker, with its writers.
type log struct {
	*testing.T
	c      *brokertest.Cluster
	out    *kgo.Client
	reader *journal.Reader
	ctx    context.Context
}

func newLog(t *testing.T) *log {
	c := brokertest.Start(t, topics.Options{})
	out, err := kafka.NewJournalProducer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := journal.NewReader(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(func() { cancel(); reader.Close(); c.Close(out) })
	return &log{t, c, out, reader, ctx}
}

func made(epoch, seq uint64, workflow string) *events.Record {
	r := &events.Record{
		Position: events.Position{Epoch: epoch, Seq: seq}, Workflow: workflow,
		Time:   1_700_000_000_000 + int64(epoch*1000+seq),
		Events: []events.Event{&events.WorkflowIdle{}},
	}
	if seq == 1 {
		r.Replaces = epoch - 1
	}
	return r
}

func (l *log) encode(r *events.Record) *kgo.Record {
	return journal.Encode(r, l.c.Topics.Names, partition)
}

func (l *log) append(list ...*events.Record) {
	l.Helper()
	for _, r := range list {
		l.raw(l.encode(r))
	}
}

func (l *log) raw(r *kgo.Record) {
	l.Helper()
	if err := l.out.ProduceSync(l.ctx, r).FirstErr(); err != nil {
		l.Fatal(err)
	}
}

// expire deletes the records before an offset, as retention does.
func (l *log) expire(before int64) {
	l.Helper()
	var cut kadm.Offsets
	cut.Add(kadm.Offset{Topic: l.c.Topics.Journal(), Partition: partition, At: before, LeaderEpoch: -1})
	if _, err := kadm.NewClient(l.c.Admin(l)).DeleteRecords(l.ctx, cut); err != nil {
		l.Fatal(err)
	}
}

// transaction opens one that holds a record, of a claimant's own client.
func (l *log) transaction(r *events.Record) *kgo.Client {
	l.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(l.c.Config.Brokers...), kgo.TransactionalID("claimant"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(cl.Close)
	if err := cl.BeginTransaction(); err != nil {
		l.Fatal(err)
	}
	if err := cl.ProduceSync(l.ctx, l.encode(r)).FirstErr(); err != nil {
		l.Fatal(err)
	}
	return cl
}

func (l *log) end(cl *kgo.Client, how kgo.TransactionEndTry) {
	l.Helper()
	if err := errors.Join(kafka.Published(l.ctx, cl), cl.EndTransaction(l.ctx, how)); err != nil {
		l.Fatal(err)
	}
}

// read returns the positions that a reading visits, its entries and its end.
func (l *log) read(rg journal.Range) (string, []journal.Entry, journal.Place) {
	l.Helper()
	rg.Partition = partition
	var at []string
	var entries []journal.Entry
	place, err := l.reader.Read(l.ctx, rg, func(e journal.Entry) error {
		at, entries = append(at, e.Record.Position.String()), append(entries, e)
		return nil
	})
	if err != nil {
		l.Fatal(err)
	}
	return strings.Join(at, " "), entries, place
}

func TestOnlyLawfulRecordsAreRead(t *testing.T) {
	l := newLog(t)
	l.append(made(1, 1, ""), made(1, 2, "a"))
	l.raw(&kgo.Record{Topic: l.c.Topics.Journal(), Partition: partition, Value: []byte("of someone else")})
	l.end(l.transaction(made(2, 1, "")), kgo.TryAbort) // a claimant that gave up
	l.append(made(1, 3, "b"))
	l.end(l.transaction(made(2, 1, "")), kgo.TryCommit)
	l.append(made(1, 4, "a"), made(2, 2, "a"), made(1, 5, "a"), made(2, 4, "a"), made(2, 3, "b"))
	l.end(l.transaction(made(2, 1, "")), kgo.TryCommit) // a claimant that was overtaken
	got, _, place := l.read(journal.Range{To: journal.Now})
	if want := "1.1 1.2 1.3 2.1 2.2 2.3"; got != want {
		t.Fatalf("read %s, want %s", got, want)
	}
	b, err := l.reader.Bounds(l.ctx, partition)
	if err != nil || place.Offset != b.End {
		t.Fatalf("ended at %d, the log at %d: %v", place.Offset, b.End, err)
	}
	l.append(made(2, 4, "a"), made(2, 5, "b"))
	if got, _, _ := l.read(journal.Range{From: place, To: journal.Now}); got != "2.4 2.5" {
		t.Fatalf("went on with %s", got)
	}
}

func TestAnOpenTransactionHoldsReadersUp(t *testing.T) {
	l := newLog(t)
	l.append(made(1, 1, ""), made(1, 2, "a"))
	cl := l.transaction(made(2, 1, ""))
	l.append(made(1, 3, "a"))
	got, _, place := l.read(journal.Range{To: journal.Now})
	if got != "1.1 1.2" {
		t.Fatalf("read %s before the transaction ended", got)
	}
	l.end(cl, kgo.TryAbort)
	if got, _, _ := l.read(journal.Range{From: place, To: journal.Now}); got != "1.3" {
		t.Fatalf("read %s after the transaction ended", got)
	}
}

func TestFollowingSeesWhatIsAppendedUntilItIsStopped(t *testing.T) {
	l := newLog(t)
	l.append(made(1, 1, ""), made(1, 2, "a"))
	var seen []string
	place, err := l.reader.Read(l.ctx, journal.Range{Partition: partition, To: journal.Follow}, func(e journal.Entry) error {
		seen = append(seen, e.Record.Position.String())
		switch e.Record.Position.Seq {
		case 2:
			l.append(made(1, 3, "a"), made(1, 4, "a"))
		case 4:
			return journal.Stop
		}
		return nil
	})
	if err != nil || !slices.Equal(seen, []string{"1.1", "1.2", "1.3", "1.4"}) || place.Last.Position.Seq != 4 {
		t.Fatalf("saw %q, %v; ended behind %s", seen, err, place.Last.Position)
	}
	l.append(made(1, 5, "a"))
	ctx, cancel := context.WithCancel(l.ctx)
	_, err = l.reader.Read(ctx, journal.Range{Partition: partition, From: place, To: journal.Follow}, func(journal.Entry) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled reading ends with %v", err)
	}
}

func TestReadingFromAPlaceGivesTheRest(t *testing.T) {
	l := newLog(t)
	l.append(made(1, 1, ""), made(1, 2, "a"), made(2, 1, ""), made(1, 3, "a"), made(2, 2, "b"), made(2, 3, "a"))
	all, entries, _ := l.read(journal.Range{To: journal.Now})
	for i, e := range entries {
		rest := strings.Join(strings.Fields(all)[i+1:], " ")
		got, again, _ := l.read(journal.Range{From: journal.Behind(e.Mark), To: journal.Now})
		if got != rest {
			t.Errorf("behind %s: %s, want %s", e.Mark.Position, got, rest)
		}
		for j := range again {
			if again[j].Mark != entries[i+1+j].Mark {
				t.Errorf("behind %s: marks differ: %+v, want %+v", e.Mark.Position, again[j].Mark, entries[i+1+j].Mark)
			}
		}
		want := strings.TrimSpace(e.Mark.Position.String() + " " + rest)
		if got, _, _ := l.read(journal.Range{From: journal.Before(e.Mark.Position, 0), To: journal.Now}); got != want {
			t.Errorf("at %s: %s, want %s", e.Mark.Position, got, want)
		}
	}
	of := func(key []byte) bool { return string(key) == "a" }
	if got, _, place := l.read(journal.Range{To: journal.Now, Wanted: of}); got != "1.2 2.3" || place.Last != entries[len(entries)-1].Mark {
		t.Errorf("of workflow a: %s, up to %s", got, place.Last.Position)
	}
	if got, _, _ := l.read(journal.Range{To: journal.End(entries[2].Mark.Offset + 1)}); got != "1.1 1.2 2.1" {
		t.Errorf("up to the third: %s", got)
	}
}

func TestAnUndecodableLawfulRecordStopsReadersWhereItIs(t *testing.T) {
	l := newLog(t)
	l.append(made(1, 1, ""))
	spoilt := l.encode(made(1, 2, "a"))
	spoilt.Value = []byte{0xff}
	l.raw(spoilt)
	l.append(made(1, 3, "b"))
	visited := 0
	_, err := l.reader.Read(l.ctx, journal.Range{Partition: partition, To: journal.Now}, func(journal.Entry) error { visited++; return nil })
	if err == nil || !strings.Contains(err.Error(), "partition 1, offset 1") || visited != 1 {
		t.Fatalf("visited %d, then %v", visited, err)
	}
}

func TestPlacesThatTheJournalDoesNotHaveAreErrors(t *testing.T) {
	l := newLog(t)
	l.append(made(1, 1, ""), made(1, 2, "a"), made(1, 3, "a"))
	read := func(offset int64) error {
		_, err := l.reader.Read(l.ctx, journal.Range{Partition: partition, From: journal.Place{Offset: offset}, To: journal.Now}, nil)
		return err
	}
	if err := read(4); !errors.Is(err, journal.ErrShort) {
		t.Errorf("behind the end: %v", err)
	}
	l.expire(2)
	if err := read(1); !errors.Is(err, journal.ErrGone) {
		t.Errorf("before the start: %v", err)
	}
	if _, err := l.reader.Bounds(l.ctx, 99); err == nil {
		t.Error("a partition that is not there has bounds")
	}
}

func TestRecordsAreFoundByTime(t *testing.T) {
	l := newLog(t)
	l.append(made(1, 1, ""), made(1, 2, "a"), made(1, 3, "a"))
	for seq, want := range map[uint64]int64{1: 0, 2: 1, 3: 2, 4: 3} {
		at, err := l.reader.OffsetAt(l.ctx, partition, time.UnixMilli(made(1, seq, "").Time))
		if err != nil || at != want {
			t.Errorf("time of 1.%d: offset %d, %v", seq, at, err)
		}
	}
}

// A journal that lost its first records to retention proves what comes behind a
// checkpoint, if nothing that counted is between.
func TestAJournalProvesWhatIsBehindACoveredStart(t *testing.T) {
	l := newLog(t)
	l.append(made(1, 1, ""), made(1, 2, "a"), made(1, 9, "void"), made(1, 3, "b"), made(1, 4, "a"))
	_, entries, _ := l.read(journal.Range{To: journal.Now})
	l.expire(3)
	for _, c := range []struct {
		from, to int
		covered  int64
		proven   bool
	}{
		{1, 3, 3, true}, {1, 1, 3, true}, {1, 3, 2, false}, {1, 1, 0, false}, {0, 3, 3, false}, {2, 3, 0, true},
	} {
		why, err := l.reader.Prove(l.ctx, partition, entries[c.from].Mark, entries[c.to].Mark, c.covered)
		if err != nil || (why == "") != c.proven {
			t.Errorf("from %d to %d, covered to %d: %q, %v", c.from, c.to, c.covered, why, err)
		}
	}
}

func TestAJournalProvesWhatItHolds(t *testing.T) {
	l := newLog(t)
	l.append(made(1, 1, ""), made(1, 2, "a"), made(2, 1, ""), made(2, 2, "b"), made(2, 3, "a"))
	_, entries, _ := l.read(journal.Range{To: journal.Now})
	prove := func(from, to journal.Mark) bool {
		t.Helper()
		why, err := l.reader.Prove(l.ctx, partition, from, to, 0)
		if err != nil {
			t.Fatal(err)
		}
		return why == ""
	}
	for i, to := range entries {
		if !prove(journal.Mark{}, to.Mark) {
			t.Errorf("from the beginning to %s: not proven", to.Mark.Position)
		}
		for _, from := range entries[:i+1] {
			if !prove(from.Mark, to.Mark) {
				t.Errorf("from %s to %s: not proven", from.Mark.Position, to.Mark.Position)
			}
		}
	}
	from, to := entries[1].Mark, entries[3].Mark
	for name, spoil := range map[string]func(m *journal.Mark){
		"content":  func(m *journal.Mark) { m.Value++ },
		"position": func(m *journal.Mark) { m.Position.Seq++ },
		"offset":   func(m *journal.Mark) { m.Offset++ },
		"digest":   func(m *journal.Mark) { m.Digest++ },
		"end":      func(m *journal.Mark) { m.Offset += 10 },
	} {
		for i, marks := range [][2]journal.Mark{{from, to}, {from, from}, {journal.Mark{}, to}} {
			other := marks[1]
			spoil(&other)
			if prove(marks[0], other) {
				t.Errorf("another %s of the last record (%d): proven", name, i)
			}
		}
		other := from
		spoil(&other)
		if prove(other, to) {
			t.Errorf("another %s of the first record: proven", name)
		}
	}
	same := from
	same.Value++
	if prove(same, same) {
		t.Error("one record with another content: proven")
	}
}
