package loop

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// dispatched are the dispatch records of a model, as a query tells them.
func (m *model) dispatched(q events.Query) []delivery.Record {
	m.t.Helper()
	r := m.p.ended.answer(&q)
	m.p.tx.Reset()
	var all []delivery.Record
	if err := json.Unmarshal(r.Body, &all); err != nil {
		m.t.Fatal(err)
	}
	return all
}

// counts are pending, notified, delivered and failed, as the cases write them.
func (m *model) counts() string {
	b := m.p.Backlog()
	return fmt.Sprintf("%d/%d/%d/%d", b.Pending, b.Notified, b.Delivered, b.Failed)
}

// only is the one record that there is.
func (m *model) only() delivery.Record {
	m.t.Helper()
	all := m.dispatched(events.Query{})
	if len(all) != 1 {
		m.t.Fatalf("there are %d dispatch records, want 1: %+v", len(all), all)
	}
	return all[0]
}

func (m *model) notify(task *Outgoing, channel string) {
	m.report(task, func(token []byte) events.InboxMessage {
		return &events.TaskNotified{Token: token, Channel: channel}
	})
	m.mustStep()
	m.ack()
}

func (m *model) complete(task *Outgoing) {
	m.outcome(task, "5")
	m.mustStep()
	m.ack()
}

// removal is what an operator's removal of records comes to: the names of the events of its record, and the
// refusal, if it is one.
func (m *model) removal(ids ...string) string {
	m.t.Helper()
	body, err := json.Marshal(map[string]any{"ids": ids, "by": "ann", "why": "test"})
	if err != nil {
		m.t.Fatal(err)
	}
	m.command(fmt.Sprint("remove", len(m.journal)), "_partition/0", "remove_dispatch", string(body))
	m.mustStep()
	m.ack()
	switch e := m.record(len(m.journal) - 1).Events[0].(type) {
	case *events.CommandRefused:
		return e.Code
	case *events.InputRejected:
		code, _, _ := strings.Cut(e.Reason, ":")
		return code
	case *events.DispatchesRemoved:
		return strings.Join(e.IDs, " ")
	}
	return m.names(len(m.journal) - 1)
}

// reborn is the model of the next process, on the same store.
func (m *model) reborn() {
	m.t.Helper()
	m.p.Write()
	m.p = NewProcessor(m.p.Config)
	m.p.epoch, m.p.seq = 1, m.p.Applied.Position.Seq+uint64(len(m.journal))+1
	if err := m.p.Recall(); err != nil {
		m.t.Fatal(err)
	}
	if err := m.p.rewatch(); err != nil {
		m.t.Fatal(err)
	}
}

func TestBL01ADispatchIsPending(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	m.running("w")
	r := m.only()
	if m.counts() != "1/0/0/0" || r.Status != delivery.Pending || r.CreatedAt == "" || r.NotifiedAt != nil || r.DeliveredAt != nil || r.FailedAt != nil {
		t.Errorf("%s, %+v", m.counts(), r)
	}
}

func TestBL03AnOutcomeDelivers(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	task := m.running("w")
	m.notify(task, "ch")
	if m.counts() != "0/1/0/0" {
		t.Errorf("notified: %s", m.counts())
	}
	notified := m.only().NotifiedAt
	m.now = m.now.Add(time.Second)
	m.complete(task)
	r := m.only()
	if m.counts() != "0/0/1/0" || r.Status != delivery.Delivered || r.DeliveredAt == nil || notified == nil || *r.NotifiedAt != *notified || *r.DeliveredAt == *notified {
		t.Errorf("%s, %+v", m.counts(), r)
	}
}

// An outcome that comes before any other word carries both transitions: none leads from pending to delivered (BL06).
func TestBL06AFastOutcomeCarriesBothTransitions(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	m.complete(m.running("w"))
	r := m.only()
	if m.counts() != "0/0/1/0" || r.NotifiedAt == nil || *r.NotifiedAt != *r.DeliveredAt {
		t.Errorf("%s, %+v", m.counts(), r)
	}
	if err := delivery.Pending.To(delivery.Delivered); err == nil {
		t.Error("pending may become delivered")
	}
}

func TestBL05ALossFails(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	task := m.running("w")
	m.batch.Produced = []Produced{{Out: task, Err: fmt.Errorf("refused")}}
	m.mustStep()
	m.mustStep()
	m.ack()
	failed := m.dispatched(events.Query{Filter: string(delivery.Failed)})
	if len(failed) != 1 || failed[0].FailedAt == nil || failed[0].NotifiedAt != nil || failed[0].Reason == nil || *failed[0].Reason != events.ErrorLost {
		t.Fatalf("%s, %+v", m.counts(), failed)
	}
	if m.counts() != "1/0/0/1" {
		t.Error(m.counts())
	}
	if open := m.dispatched(events.Query{Filter: string(delivery.Pending)}); len(open) != 1 || open[0].RequestID == failed[0].RequestID {
		t.Errorf("BL13: the attempt that follows has an id of its own: %+v", open)
	}
}

// What comes again under the id of a delivery that has ended changes nothing (BL07, BL10, PS09).
func TestBL10WhatIsSaidOfNoOpenDeliveryChangesNothing(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	task := m.running("w")
	m.notify(task, "ch")
	m.complete(task)
	before, n := m.only(), len(m.journal)
	m.notify(task, "other")
	m.complete(task)
	if after := m.only(); len(m.journal) != n || !reflect.DeepEqual(before, after) {
		t.Errorf("%+v, then %+v, and the journal has grown by %d", before, after, len(m.journal)-n)
	}
	m.removal(before.RequestID)
	n = len(m.journal)
	m.complete(task)
	if m.counts() != "0/0/0/0" || len(m.journal) != n {
		t.Errorf("PS09: %s, and the journal has grown by %d", m.counts(), len(m.journal)-n)
	}
}

// No request id is used twice: what dispatches is decided once, however often it comes.
func TestBL12ARepeatedInputDispatchesOnce(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	m.running("w")
	m.running("w")
	if m.only(); m.counts() != "1/0/0/0" {
		t.Error(m.counts())
	}
}

// A worker's word that it has what had failed before changes the reason only, once.
func TestCL17ALateConfirmationOfAFailedRecordChangesItsReason(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	task := m.running("w")
	m.batch.Produced = []Produced{{Out: task, Err: fmt.Errorf("refused")}}
	m.mustStep()
	m.mustStep()
	m.ack()
	m.notify(task, strings.Repeat("x", 100_000)) // whoever writes it, what is kept has a bound
	if r := m.dispatched(events.Query{Filter: string(delivery.Failed)})[0]; len(*r.Reason) != events.MaxChannel {
		t.Errorf("a reason of %d bytes is kept", len(*r.Reason))
	}
	for range 2 {
		m.notify(task, "late")
	}
	r := m.dispatched(events.Query{Filter: string(delivery.Failed)})[0]
	if *r.Reason != "late" || r.Status != delivery.Failed || r.NotifiedAt != nil {
		t.Errorf("%+v", r)
	}
	told := 0
	for i := range m.journal {
		if strings.Contains(m.names(i), "DeliveryConfirmedLate") {
			told++
		}
	}
	if told != 2 { // each that says something else
		t.Errorf("it is told %d times", told)
	}
}

func TestBL19TimesAreThoseOfBeforeARestart(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	m.complete(m.running("v"))
	task := m.running("w")
	m.now = m.now.Add(time.Minute)
	m.notify(task, "ch")
	before, counts := m.dispatched(events.Query{}), m.counts()
	m.now = m.now.Add(time.Minute)
	m.reborn()
	if after := m.dispatched(events.Query{}); !reflect.DeepEqual(before, after) || m.counts() != counts || counts != "0/1/1/0" {
		t.Errorf("BL19, PS07: %s: %+v\nbehind a restart\n%s: %+v", counts, before, m.counts(), after)
	}
}

func TestPS10ARemovalIsWholeOrNothing(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	m.complete(m.running("v"))
	m.running("w")
	var ended, open string
	for _, r := range m.dispatched(events.Query{}) {
		if ended = r.RequestID; r.Status == delivery.Pending {
			open = r.RequestID
		}
	}
	unknown := m.machine().RequestID(events.Token{Workflow: "w", Runnable: 9, Attempt: 1})
	for _, c := range []struct {
		ids  []string
		want string
	}{
		{nil, "missing_field"},
		{[]string{""}, "invalid_request_id"},
		{[]string{"tAAAA"}, "invalid_request_id"},
		{[]string{ended, ended}, "duplicate_request_id"},
		{[]string{ended, unknown}, "not_found"},
		{[]string{ended, open}, "invalid_transition"},
	} {
		if got := m.removal(c.ids...); got != c.want {
			t.Errorf("%v: %s, want %s", c.ids, got, c.want)
		}
		if m.counts() != "1/0/1/0" {
			t.Fatalf("BL18: behind %v: %s", c.ids, m.counts())
		}
	}
}

func TestPS11RemovedRecordsAreGone(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	m.complete(m.running("v"))
	m.complete(m.running("w"))
	m.complete(m.running("x"))
	all := m.dispatched(events.Query{})
	ids := []string{all[2].RequestID, all[0].RequestID}
	slices.Sort(ids)
	if got := m.removal(ids[1], ids[0]); got != strings.Join(ids, " ") {
		t.Errorf("the event names %s, want %v", got, ids)
	}
	if got := m.removal(ids[0]); got != "not_found" { // and no attempt will ever have that id: they have the place of a record
		t.Errorf("removed again: %s", got)
	}
	for range 2 {
		if r := m.only(); r.RequestID != all[1].RequestID || m.counts() != "0/0/1/0" {
			t.Errorf("%s, %+v", m.counts(), r)
		}
		m.reborn()
	}
}

// A queue is listed however many others wait longer.
func TestEachQueueIsListed(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	m.running("w")
	for i := range 2 * maxQueues {
		m.p.watch.note(&try{key: attemptKey{"v", events.RunnableID(i)}, row: machine.Attempt{Attempt: 1, Queue: fmt.Sprint("q", i), Since: 1}, open: true}, 1)
	}
	if got := m.dispatched(events.Query{Queue: "default"}); len(got) != 1 || got[0].Target != "default" {
		t.Errorf("of the queue default there are listed %+v", got)
	}
}

// What is kept has a bound in number and in time.
func TestEndedRecordsAreForgotten(t *testing.T) {
	m := newModel(t, Settings{Lease: 24 * time.Hour})
	add := func(n int, now int64) {
		for i := range n {
			m.p.ended.fold([]machine.Ended{{Delivery: machine.Delivery{Token: events.Token{Workflow: "w", Runnable: events.RunnableID(i)}, Queue: "q"}, At: now}}, now)
			m.p.apply()
		}
	}
	now := m.now.UnixMilli()
	add(3*endedKept, now)
	if n := m.p.ended.total; n < endedKept || n >= endedKept+2*endedPage {
		t.Errorf("%d are kept, want %d and less than two pages more", n, endedKept)
	}
	m.now = m.now.Add(11 * time.Minute)
	m.p.Tick()
	if m.counts() != "0/0/0/0" {
		t.Errorf("what is too old is counted: %s", m.counts())
	}
	add(1, m.now.UnixMilli())
	if m.counts() != "0/0/1/0" || m.p.ended.total > endedPage {
		t.Errorf("%s, and %d are kept", m.counts(), m.p.ended.total)
	}
}

// The counts in memory are those of the rows, whatever is added, changed, removed, and forgotten; so are those that a
// restart makes.
func TestTheCountsOfEndedRecordsAreThoseOfTheRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(t, Settings{Lease: 24 * time.Hour})
		d, next, now := &m.p.ended, uint64(0), m.now.UnixMilli()
		known := func() *machine.Ended {
			page := rapid.SampledFrom(d.pages).Draw(rt, "page").row
			if len(page.Records) == 0 {
				return nil
			}
			return &page.Records[rapid.IntRange(0, len(page.Records)-1).Draw(rt, "record")]
		}
		rt.Repeat(map[string]func(*rapid.T){
			"end": func(rt *rapid.T) {
				all := make([]machine.Ended, rapid.IntRange(1, 150).Draw(rt, "ended"))
				for i := range all {
					next++
					all[i] = machine.Ended{Delivery: machine.Delivery{
						Token: events.Token{Workflow: "w", Runnable: events.RunnableID(next)}, Queue: []string{"a", "b"}[i%2],
					}, At: now, Failed: i%3 == 0}
				}
				d.fold(all, now)
				m.p.apply()
			},
			"remove": func(rt *rapid.T) {
				if len(d.pages) == 0 {
					return
				}
				if e := known(); e != nil {
					d.remove(&events.DispatchesRemoved{IDs: []string{m.machine().RequestID(e.Token)}})
					m.p.apply()
				}
			},
			"confirm": func(rt *rapid.T) {
				if len(d.pages) == 0 {
					return
				}
				if e := known(); e != nil {
					d.confirmedLate(&events.DeliveryConfirmedLate{ID: m.machine().RequestID(e.Token), Reason: "late"})
					m.p.apply()
				}
			},
			"wait": func(rt *rapid.T) { now += rapid.Int64Range(0, endedFor/2).Draw(rt, "ms") },
			"restart": func(*rapid.T) {
				if err := m.Commit(m.p.n, m.p.tail, nil); err != nil {
					t.Fatal(err)
				}
				m.reborn()
				d = &m.p.ended
			},
			"": func(rt *rapid.T) {
				counted, total := map[string]outcomes{}, 0
				rows.Scan(rows.Begin(m), rows.Key{Table: rows.Dispatch}, func(_ rows.Key, page *endedRow) bool {
					for _, r := range page.Records {
						q := counted[r.Queue]
						if total++; r.Failed {
							q.failed++
						} else {
							q.delivered++
						}
						counted[r.Queue] = q
					}
					return true
				})
				kept := map[string]outcomes{}
				for name, q := range d.queues {
					kept[name] = *q
				}
				if !reflect.DeepEqual(counted, kept) || total != d.total || total >= endedKept+4*endedPage {
					rt.Fatalf("the rows have %d: %v, counted are %d: %v", total, counted, d.total, kept)
				}
			},
		})
	})
}
