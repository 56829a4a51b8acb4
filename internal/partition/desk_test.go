package partition

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/partition/feed"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// desk is the way of one workflow's summaries: an owner, the statuses, and a
// broker that answers when it is told.
type desk struct {
	t      *testing.T
	s      *statuses
	p      *loop.Processor
	now    time.Time // of the owner
	late   bool      // its lease has no margin left
	log    *kafkaLog
	broker *slowBroker
	shut   []*loop.Outgoing        // what is parked, as its outbox row makes it again
	back   map[*loop.Outgoing]bool // what was parked
	out    []uint64                // what counts as out
	topic  []uint64                // what the broker has written, in its order
}

// slowBroker is a Producer whose records wait for their answers.
type slowBroker struct {
	mu      sync.Mutex
	waiting []question
}

type question struct {
	r    *kgo.Record
	done func(*kgo.Record, error)
}

func (b *slowBroker) Produce(_ context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, question{r, done})
}

func (*slowBroker) Close() {}

func newDesk(t *testing.T) *desk {
	settings := loop.Settings{}.Complete()
	d := &desk{t: t, broker: &slowBroker{}, s: newStatuses(&settings), back: map[*loop.Outgoing]bool{}}
	host := &Host{HostConfig: HostConfig{Settings: settings}, status: d.broker, effects: d.broker, latest: d.s, logger: slog.New(slog.DiscardHandler)}
	host.queues = newQueueCounts(host)
	d.log = &kafkaLog{ctx: t.Context(), host: host, box: feed.NewMailbox(nil, &settings)}
	d.own(settings)
	return d
}

// own makes the owner, with a lease from now on.
func (d *desk) own(settings loop.Settings) {
	d.t.Helper()
	s, err := store.Open(store.Options{Dir: "desk", FS: vfs.NewMem()})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { s.Close() })
	d.now = time.UnixMilli(1)
	d.p = loop.NewProcessor(loop.Config{
		Settings: settings, Log: d.log, State: newStoreState(s, store.NewBudget(1<<10), &loop.Stats{}), Stored: s, Clock: d,
		Stats: &loop.Stats{}, Logger: slog.New(slog.DiscardHandler),
	})
	acquired := &events.AuthorityAcquired{Owner: "me", LeaseID: "l", LeasedUntil: 1 + settings.Lease.Milliseconds()}
	rec := &events.Record{Position: events.Position{Epoch: 1, Seq: 1}, Time: 1, Events: []events.Event{acquired}}
	if err := d.p.Replay(rec, journal.Mark{Position: rec.Position}, false); err != nil {
		d.t.Fatal(err)
	}
}

// Now implements Clock.
func (d *desk) Now() time.Time { return d.now }

// linger lets the lease come to its margin.
func (d *desk) linger() {
	d.late, d.now = true, time.UnixMilli(d.p.Lease().LeasedUntil-1)
	d.p.Tick()
}

// renew gives the lease its margin again.
func (d *desk) renew() {
	d.late = false
	d.p.Renew(loop.Renewed{Until: d.now.Add(d.p.Settings.Lease).UnixMilli()})
}

// put releases the summary of a record, behind what waits for the lease after it
// was parked.
func (d *desk) put(seq uint64) {
	o := &loop.Outgoing{Kind: machine.StatusEffect, Key: "w", Value: fmt.Append(nil, seq), Decided: events.Position{Epoch: 1, Seq: seq}}
	if d.late {
		d.shut = append(d.shut, o)
		return
	}
	d.log.Produce(o)
}

// answer lets the broker take, or refuse, the record that waits longest.
func (d *desk) answer(err error) {
	d.t.Helper()
	if len(d.broker.waiting) == 0 {
		d.t.Fatal("the broker is asked nothing")
	}
	q := d.broker.waiting[0]
	d.broker.waiting = d.broker.waiting[1:]
	if err == nil {
		d.topic = append(d.topic, number(d.t, q.r.Value))
	}
	q.done(q.r, err)
	d.turn()
}

// turn is a step of the owner.
func (d *desk) turn() {
	var b loop.Batch
	d.log.box.Take(&b)
	for _, r := range b.Produced {
		o := r.Out
		if r.Unavailable != (loop.Destination{}) {
			d.back[o] = true
			d.shut = append(d.shut, &loop.Outgoing{Kind: o.Kind, Key: o.Key, Value: o.Value, Decided: o.Decided, Number: o.Number})
			continue
		}
		if d.back[o] {
			d.shut = slices.DeleteFunc(d.shut, func(s *loop.Outgoing) bool { return s.Decided == o.Decided })
		}
		d.out = append(d.out, number(d.t, o.Value))
	}
	for _, do := range b.Commands {
		do(d.p)
	}
}

// settle lets all timers run that are due soon, and the owner step; it sends
// again what is parked.
func (d *desk) settle() {
	for range 3 {
		time.Sleep(time.Second)
		synctest.Wait()
		d.turn()
		for _, o := range d.shut {
			d.p.ReleaseAgain(o)
		}
		d.shut = nil
	}
}

func number(t *testing.T, value []byte) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
