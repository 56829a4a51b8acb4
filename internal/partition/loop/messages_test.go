package loop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

const jar = looptest.JarKind + ":j"

func newEntityModel(t *testing.T) *model {
	t.Helper()
	m := newModel(t, Settings{Window: window, Lease: 24 * time.Hour})
	m.p.Machine = looptest.Entities(m.p.Machine)
	return m
}

// tell puts a message to the jar into its inbox: the effect n of record 1.seq of partition 7.
func (m *model) tell(seq, n uint64, written time.Time, amount int) {
	msg := &events.EntityMessage{
		From: looptest.PurseKind + ":p", Partition: 7, Decided: events.Position{Epoch: 1, Seq: seq}, Number: n,
		Written: written.UnixMilli(), Body: fmt.Appendf(nil, `{"amount":%d}`, amount),
	}
	m.input(events.FromInbox, jar, string(events.EncodeInbox(msg)))
	m.take()
}

// inJar is what the jar has.
func (m *model) inJar() looptest.Fund {
	if f := rows.Get[looptest.Fund](rows.Begin(m), looptest.HeadKey(jar)); f != nil {
		return *f
	}
	return looptest.Fund{}
}

// received are the rows about messages that were had.
func (m *model) received() (n int) {
	m.p.Write()
	for _, k := range m.memory.Keys() {
		if k.Table == rows.Received || k.Table == rows.ReceivedAge {
			n++
		}
	}
	return n
}

// However often a message comes, it counts once, and its answer is sent once; two of one
// record are two.
func TestE4AMessageCountsOnce(t *testing.T) {
	m := newEntityModel(t)
	for range 3 {
		m.tell(1, 0, m.now, 5)
	}
	m.tell(1, 1, m.now, 2)
	m.tell(1, 0, m.now, 5)
	if f := m.inJar(); f.Amount != 7 || f.Moves != 2 {
		t.Errorf("the jar has %+v, want 7 of 2 moves", f)
	}
	said := m.of(machine.MessageEffect)
	if len(said) != 2 {
		t.Fatalf("%d messages went out, want 2", len(said))
	}
	first, err := events.DecodeInbox(said[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	rec := m.record(0)
	if got := first.(*events.EntityMessage); said[0].Key != "purse:p" || got.From != jar || got.Partition != m.p.Partition || got.Decided != rec.Position || got.Number != 0 || got.Written != rec.Time || string(got.Body) != `{"confirm":true}` {
		t.Errorf("%s is told %+v, of record %+v", said[0].Key, got, rec)
	}
	if n := m.p.Stats.Duplicates.Load(); n != 3 {
		t.Errorf("%d repetitions were counted, want 3", n)
	}
}

// What comes under the id of another message is rejected.
func TestE4AnotherMessageUnderAUsedIDIsRejected(t *testing.T) {
	m := newEntityModel(t)
	m.tell(1, 0, m.now, 5)
	m.tell(1, 0, m.now, 6)
	if f := m.inJar(); f.Amount != 5 {
		t.Errorf("the jar has %+v, want 5", f)
	}
	if e, ok := m.record(len(m.journal) - 1).Events[0].(*events.InputRejected); !ok || !strings.HasPrefix(e.Reason, "conflict: ") {
		t.Errorf("the last record is %s", m.names(len(m.journal)-1))
	}
}

// A message that was written more than a window ago may be one that was decided and
// forgotten: its receiver is told that it is late. One that is known is known however old.
func TestE4AMessageOfBeforeTheWindowComesLate(t *testing.T) {
	m := newEntityModel(t)
	began := m.now
	m.tell(1, 0, began, 5)
	m.now = m.now.Add(window + time.Second)
	m.tell(1, 0, began, 5)
	if f := m.inJar(); f.Moves != 1 || f.Late != 0 {
		t.Errorf("behind a repetition that is still known the jar is %+v", f)
	}
	m.tell(2, 0, began, 5)
	m.tell(3, 0, m.now.Add(-window/2), 1)
	if f := m.inJar(); f.Moves != 2 || f.Amount != 6 || f.Late != 1 {
		t.Errorf("behind a late one and one in time the jar is %+v", f)
	}
}

// What is remembered of messages has a bound also where no command ever comes, and none
// is forgotten that would not come late.
func TestE4WhatIsRememberedOfMessagesIsBounded(t *testing.T) {
	m := newEntityModel(t)
	seq, most := uint64(0), 0
	for range 9 {
		for range 4 {
			for range expireEvery {
				seq++
				m.tell(seq, 0, m.now, 1)
			}
			most = max(most, m.received())
			m.now = m.now.Add(window / 4)
		}
		m.tell(seq, 0, m.now.Add(-window/4), 1) // the last one, again
	}
	if f := m.inJar(); f.Amount != int64(seq) || f.Late != 0 {
		t.Errorf("the jar has %+v of %d", f, seq)
	}
	if limit := 3 * 4 * (expireEvery + 4); most > limit {
		t.Errorf("%d rows are about messages of two windows, want at most %d", most, limit)
	}
}

// Where a restore is read again behind the deletion of what it brought back, it brings nothing back.
func TestARestoreCountsOnce(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	rec := m.input(events.FromInbox, "w", string(events.EncodeInbox(&events.RunRestore{Run: events.RunID{Epoch: 1, Seq: 1}})))
	m.mustStep()
	m.ack()
	m.p.Write()
	m.memory.Commit([]rows.Write{{Key: looptest.HeadKey("w")}}) // it was deleted
	n := len(m.journal)
	m.p.inputs[events.FromInbox].Next, m.p.inputs[events.FromInbox].Last = 0, 0 // as an operator has asked
	m.batch.Inputs[events.FromInbox] = append(m.batch.Inputs[events.FromInbox], rec)
	m.mustStep()
	if len(m.journal) != n || m.p.Stats.Duplicates.Load() != 1 {
		t.Errorf("the journal has grown from %d to %d records, and %d duplicates were seen", n, len(m.journal), m.p.Stats.Duplicates.Load())
	}
}
