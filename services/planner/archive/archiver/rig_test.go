package archiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// rig is a broker whose only partition is written by the test, as an owner would, and a store.
type rig struct {
	t *testing.T
	*brokertest.Cluster
	ctx   context.Context
	out   *kgo.Client
	inbox *kgo.Client
	store store.Opened

	planner *planner.Planner
	state   rows.Memory
	seq     uint64
	now     int64
	list    []*kgo.Record // of the journal
	told    []events.RunArchived
}

const waiting = `{"name":"d","components":{"go":{"signal":"go"},"done":{"expr":"1 + 1","after":"go"}},` +
	`"options":{"close":"on_idle","retain":{"completed":"1h"},"labels":{"team":"blue"}}}`

func newRig(t *testing.T) *rig {
	r := &rig{t: t, Cluster: brokertest.Start(t, topics.Options{Partitions: 1}), store: memory.New(), now: time.Now().UnixMilli()}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(stop)
	r.ctx = ctx
	var err error
	r.out, err = kafka.NewEffectsProducer(r.Config)
	r.must(err)
	t.Cleanup(r.out.Close)
	r.inbox, err = kafka.NewTail(r.Config, kafka.FromStart, r.Topics.Inbox())
	r.must(err)
	t.Cleanup(r.inbox.Close)
	r.planner = planner.New(planner.Config{Key: events.Key("0123456789abcdef"), Definitions: func(string) ([]byte, bool) { return []byte(waiting), true }, Archive: true})
	r.append(&events.Record{Events: []events.Event{&events.AuthorityAcquired{Owner: "me", LeaseID: "l", LeasedUntil: r.now + 60_000}}})
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// append writes a record to the journal.
func (r *rig) append(rec *events.Record) {
	r.t.Helper()
	r.seq++
	rec.Position, rec.Time = events.Position{Epoch: 1, Seq: r.seq}, r.now
	k := journal.Encode(rec, r.Topics.Names, 0)
	r.must(r.out.ProduceSync(r.ctx, k).FirstErr())
	r.list = append(r.list, k)
}

// command decides a command as the owner does.
func (r *rig) command(id, name, body string) {
	r.t.Helper()
	headers := []events.Header{{Key: events.HeaderID, Value: fmt.Appendf(nil, "c%d", r.seq)}, {Key: events.HeaderType, Value: []byte(events.CommandType(name))}}
	cmd, bad := events.ParseCommand([]byte(id), headers, []byte(body), "place")
	if bad != nil {
		r.t.Fatal(bad)
	}
	r.now++
	tx := rows.Begin(&r.state)
	out := r.planner.Decide(tx, events.Position{Epoch: 1, Seq: r.seq + 1}, r.now, machine.Input{Workflow: id, Source: events.FromCommands, Command: cmd})
	if len(out.Events) == 0 {
		r.t.Fatalf("%s has made nothing", name)
	}
	evs := slices.Clone(out.Events)
	r.state.Commit(tx.Writes())
	r.append(&events.Record{Workflow: id, Events: evs})
}

func (r *rig) starts(id string) { r.command(id, "start", `{"definition":"d","input":1}`) }
func (r *rig) ends(id string)   { r.command(id, "signal", `{"name":"go"}`) }

// archiver runs an archiver until it is stopped.
func (r *rig) archiver(set func(*Config)) (stop func()) {
	r.t.Helper()
	cfg := Config{Kafka: r.Config, Store: r.store, Name: "test", pause: 20 * time.Millisecond}
	if set != nil {
		set(&cfg)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- Run(ctx, cfg, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		r.t.Fatalf("the archiver does not start: %v", err)
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				r.t.Errorf("the archiver ended with %v", err)
			}
		})
	}
	r.t.Cleanup(stop)
	return stop
}

// hears waits until planners have been told of so many runs since the test began, twice told ones counted once.
func (r *rig) hears(n int) {
	r.t.Helper()
	for {
		distinct := map[events.RunArchived]bool{}
		for _, m := range r.told {
			distinct[m] = true
		}
		if len(distinct) >= n {
			return
		}
		fetches := r.inbox.PollFetches(r.ctx)
		if r.ctx.Err() != nil {
			r.t.Fatalf("the planners have heard of %v, want %d runs", r.told, n)
		}
		fetches.EachRecord(func(k *kgo.Record) {
			m, err := events.DecodeInbox(k.Value)
			r.must(err)
			r.told = append(r.told, *m.(*events.RunArchived))
		})
	}
}

// comes waits until something is so.
func (r *rig) comes(what string, is func() bool) {
	r.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			r.t.Fatalf("it never comes that %s", what)
		}
	}
}

// run is what the store has of the run of a workflow.
func (r *rig) run(id string) (item store.Item, snap *archive.Snapshot, recs []*events.Record) {
	r.t.Helper()
	page, err := r.store.List(r.ctx, store.Filter{Prefix: archive.RunsOf(id)}, "")
	r.must(err)
	if len(page.Items) == 0 {
		return item, nil, nil
	}
	item = page.Items[len(page.Items)-1]
	for data, err := range store.Entries(r.ctx, r.store, item.ID, 0) {
		r.must(err)
		rec, err := archive.Decode(data)
		r.must(err)
		recs = append(recs, rec)
	}
	if s, ok, err := r.store.LoadSnapshot(r.ctx, item.ID); ok {
		r.must(err)
		snap, err = archive.ParseSnapshot(s.Data)
		r.must(err)
	}
	return item, snap, recs
}

// is checks that the store has all of a workflow's records, once each and in order, and what they come to.
func (r *rig) is(id, status string) {
	r.t.Helper()
	var want []events.Position
	for _, k := range r.list {
		rec, err := journal.Decode(k)
		r.must(err)
		if rec.Workflow == id {
			want = append(want, rec.Position)
		}
	}
	_, snap, recs := r.run(id)
	var have []events.Position
	for _, rec := range recs {
		have = append(have, rec.Position)
	}
	if !slices.Equal(have, want) || snap == nil {
		r.t.Fatalf("the archive has %v of %s, want %v", have, id, want)
	}
	var sum events.Summary
	r.must(json.Unmarshal(snap.Summary, &sum))
	if sum.Status != status || !snap.Whole || snap.Why != "" || string(sum.Labels) != `{"team":"blue"}` {
		r.t.Fatalf("%s is archived as %s: %+v", id, snap.Summary, snap)
	}
}

var errKilled = errors.New("killed by the test")

// position is that of the record at an offset of the journal.
func (r *rig) position(offset int) events.Position {
	rec, err := journal.Decode(r.list[offset])
	r.must(err)
	return rec.Position
}
