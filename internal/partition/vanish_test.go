package partition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
)

// purge deletes the records of a log below its end, as retention does.
func (r *rig) purge(topic string, p int32, before int64) {
	r.t.Helper()
	adm := kadm.NewClient(r.cluster.Admin(r.t))
	var at kadm.Offsets
	at.Add(kadm.Offset{Topic: topic, Partition: p, At: before})
	_, err := adm.DeleteRecords(context.Background(), at)
	r.must(err)
}

func (r *rig) end(topic string, p int32) int64 {
	r.t.Helper()
	ends, err := kadm.NewClient(r.cluster.Admin(r.t)).ListEndOffsets(context.Background(), topic)
	r.must(err)
	end, _ := ends.Lookup(topic, p)
	return end.Offset
}

// remake deletes a topic and makes it again, empty.
func (r *rig) remake(topic string) {
	r.t.Helper()
	adm := kadm.NewClient(r.cluster.Admin(r.t))
	_, err := adm.DeleteTopics(context.Background(), topic)
	r.must(err)
	_, err = adm.CreateTopic(context.Background(), r.n, 1, nil, topic)
	r.must(err)
	producer, err := kafka.NewEffectsProducer(r.cluster.Config)
	r.must(err)
	r.t.Cleanup(func() { r.cluster.Close(producer) })
	r.producer = producer
}

func TestInputsThatRetentionTookAreJournaled(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 2)
		r.settled("w")
		a.leave()
		from := r.end(r.names.Commands(), p)
		r.send("w", "input", `{"input": 7}`) // never read
		r.purge(r.names.Commands(), p, from+1)
		notes := make(chan []string, 100)
		r.tail(r.names.Authority(), func(k *kgo.Record) {
			var rec runtime.Record
			if json.Unmarshal(k.Value, &rec) == nil && len(rec.Notes) > 0 {
				notes <- rec.Notes
			}
		})
		b := r.start("a", p)
		defer b.leave()
		b.await(Blocked)
		r.accept(p, events.FromCommands.String(), from, from+1)
		r.do("w", "input", `{"input": 7}`)
		if sum := r.settled("w"); sum != 21 {
			t.Errorf("sum is %d, want 21", sum)
		}
		if n := r.has(p, "InputLost"); n != 1 {
			t.Errorf("%d records say that inputs were lost, want 1", n)
		}
		want := fmt.Sprintf("input log commands: InputLost: the log begins later, offsets %d to %d are gone unread; reading goes on at offset %d", from, from, from+1)
		if said := <-notes; !slices.Contains(said, want) {
			t.Errorf("published as %q, want %q", said, want)
		}
	})
}

func TestARecreatedInputLogIsReadFromItsStart(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 3)
		r.settled("w")
		a.leave()
		r.remake(r.names.Commands())
		id := r.send("w", "input", `{"input": 7}`)
		b := r.start("a", p)
		defer b.leave()
		if got := r.reply(id, 1); got.Result != events.ResultDone {
			t.Errorf("the command in the new log got %+v", got)
		}
		if sum := r.settled("w"); sum != 28 {
			t.Errorf("sum is %d, want 28", sum)
		}
		truncated := r.find(p, func(e events.Event) bool { _, ok := e.(*events.InputLogTruncated); return ok })
		if e, ok := truncated.(*events.InputLogTruncated); !ok || e.Generation != 1 || e.Resume != 0 {
			t.Errorf("recorded %+v, want generation 1 from offset 0", truncated)
		}
		c := r.start("b", p) // the journal's word holds for the next owner
		c.await(Waiting)
		c.loseAll()
	})
}

func (r *rig) find(p int32, match func(events.Event) bool) events.Event {
	for _, rec := range r.lawful(p) {
		for _, e := range rec.Events {
			if match(e) {
				return e
			}
		}
	}
	return nil
}

func TestAJournalThatLostItsTailBlocksThePartition(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 3)
		r.settled("w")
		a.leave()
		r.remake(r.names.Journal())
		b := r.start("a", p)
		defer b.loseAll()
		if at := b.await(Blocked); at.Why == "" {
			t.Error("a blocked partition gives no reason")
		}
		<-time.After(20 * time.Second)
		if at := b.await(Blocked); at.Why == "" {
			t.Error("the partition repaired itself silently")
		}
	})
}

// publishedRecords are the records of partition 0, oldest first.
func (r *rig) publishedRecords() (all []runtime.Record) {
	r.t.Helper()
	r.eachOf(r.names.Authority(), func(k *kgo.Record) error {
		all = append(all, runtime.Record{})
		return json.Unmarshal(k.Value, &all[len(all)-1])
	})
	return all
}

// An operator who looks at readiness sees why a partition is blocked. It is said once, whichever planner
// finds it, and the lease and all else stay as they were published.
func TestABlockedPartitionPublishesWhy(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		r.adder()
		a := r.start("a", 0)
		r.counted("w", 3)
		r.settled("w")
		a.leave()
		before := r.publishedRecords()
		r.remake(r.names.Journal())
		var why string
		for _, instance := range []string{"a", "b"} {
			b := r.start(instance, 0)
			why = b.await(Blocked).Why
			<-time.After(20 * time.Second)
			b.loseAll()
		}
		all := r.publishedRecords()
		if len(all) != len(before)+1 {
			t.Fatalf("%d records are published of a blocked partition, want one", len(all)-len(before))
		}
		last := all[len(all)-1]
		if last.Blocked == nil || *last.Blocked != why {
			t.Errorf("published as blocked: %v, want %q", last.Blocked, why)
		}
		last.Blocked = nil
		if want := before[len(before)-1]; !reflect.DeepEqual(last, want) {
			t.Errorf("it changes the record: %+v, want %+v", last, want)
		}
	})
}

// A blocked owner that has no record to repeat says so in a new one; one that cannot be
// read stays.
func TestABlockedPartitionWithoutARecordPublishesWhy(t *testing.T) {
	for _, unread := range []bool{false, true} {
		inBubbleOf(t, 1, func(r *rig) {
			a := r.start("a", 0)
			r.counted("w", 1)
			a.leave()
			r.remake(r.names.Journal())
			r.remake(r.names.Authority())
			if unread {
				r.must(r.producer.ProduceSync(context.Background(), kafka.Placed(r.names.Authority(), 0, []byte("0"), []byte("{"))).FirstErr())
			}
			b := r.start("a", 0)
			defer b.loseAll()
			why := b.await(Blocked).Why
			<-time.After(10 * time.Second)
			if unread {
				if end := r.end(r.names.Authority(), 0); end != 1 {
					t.Errorf("a record that cannot be read is followed by %d others", end-1)
				}
				return
			}
			all := r.publishedRecords()
			if len(all) != 1 || all[0].Blocked == nil || *all[0].Blocked != why || all[0].Authority.Owner != nil {
				t.Errorf("published: %+v, want one that is blocked by %q", all, why)
			}
		})
	}
}

// A log may lose its tail between the question where it ends and the reading.
func TestReadingALogThatLostItsTailEnds(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		r.send("w", "start", `{"definition":"counter"}`)
		cluster := kafkaCluster{r.cluster.Config}
		adm, err := cluster.Admin()
		r.must(err)
		read, err := newReader(cluster, adm)
		r.must(err)
		n := 0
		err = read.read(context.Background(), r.names.Commands(), 0, 0, 5, func(*kgo.Record) error { n++; return nil })
		if err == nil || n != 1 {
			t.Errorf("%d records of five that were expected are read: %v", n, err)
		}
		synctest.Wait()
		read.close()
		adm.Close()
	})
}

// hide opens a transaction of another system in a topic, with one record.
func (r *rig) hide(topic string, p int32) *kgo.Client {
	r.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.Config.Brokers...), kgo.Dialer(r.cluster.Config.Dialer),
		kgo.TransactionalID("another system"), kgo.TransactionTimeout(time.Minute), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	r.must(err)
	r.t.Cleanup(func() { r.cluster.Close(cl) })
	r.must(cl.BeginTransaction())
	r.must(cl.ProduceSync(context.Background(), kafka.Placed(topic, p, []byte("x"), []byte("x"))).FirstErr())
	return cl
}

// What another system hides of the journal keeps the partition from being owned, and
// is shown with its place. Nothing piles up behind it.
func TestATransactionThatHangsInTheJournalBlocksThePartition(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		a := r.start("a", p)
		r.counted("w", 1)
		a.leave()
		other := r.hide(r.names.Journal(), p)
		end := r.end(r.names.Journal(), p)
		var said lines
		r.logger = slog.New(&said)
		b := r.start("a", p)
		defer b.leave()
		at := b.await(Blocked)
		if want := fmt.Sprintf("journal partition %d at offset %d: a transaction", p, end-1); !strings.Contains(at.Why, want) {
			t.Errorf("it is blocked as %q, want %q", at.Why, want)
		}
		<-time.After(30 * time.Second)
		if n := r.end(r.names.Journal(), p) - end; n != 0 {
			t.Errorf("%d records are behind the transaction", n)
		}
		if n := said.count("the partition is blocked"); n != 1 {
			t.Errorf("it is said %d times, want once", n)
		}
		r.must(other.EndTransaction(context.Background(), kgo.TryAbort))
		b.await(Owning)
	})
}

// What nothing comes of says so, with its place.
func TestAReadingOfAJournalThatGetsNothingSaysWhy(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		reader, err := journal.NewReader(r.cluster.Config)
		r.must(err)
		r.hide(r.names.Journal(), 0)
		for to, want := range map[journal.End]error{1: journal.ErrHeld, 5: journal.ErrShort} {
			_, err := reader.Read(context.Background(), journal.Range{To: to}, nil)
			if !errors.Is(err, want) || !strings.Contains(err.Error(), "journal partition 0 at offset 0") {
				t.Errorf("reading up to %d: %v, want %v", to, err, want)
			}
		}
		synctest.Wait()
		reader.Close()
	})
}
