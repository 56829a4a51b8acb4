package sim

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// coordinator is what the model knows about a transactional id.
type coordinator struct {
	id     string
	epoch  int
	txn    *transaction // the open one
	ending int          // control records of ended transactions that are not written yet
	began  time.Time
	staged func() // commits the positions of the open one
}

func (m *model) coordinator(id string) *coordinator {
	if m.txns[id] == nil {
		m.txns[id] = &coordinator{id: id}
	}
	return m.txns[id]
}

func (m *model) initialize(id string) (*session, error) {
	k := m.coordinator(id)
	k.epoch++
	if k.txn != nil {
		m.end(k, false)
	}
	return &session{id: id, epoch: k.epoch}, nil
}

func (m *model) settle(s *session) error { return m.finish(s, false) }

// check refuses a session that was fenced.
func (k *coordinator) check(s *session) error {
	if s.epoch != k.epoch {
		return kerr.ProducerFenced
	}
	return nil
}

// begin begins a transaction, unless one is open.
func (k *coordinator) begin() {
	if k.txn == nil {
		k.txn, k.began = &transaction{open: true, ended: map[*log]bool{}}, time.Now()
	}
}

func (m *model) produce(s *session, recs []*kgo.Record) error {
	k := m.coordinator(s.id)
	if err := k.check(s); err != nil {
		return err
	}
	k.begin()
	for _, rec := range recs {
		l := m.log(placeOf(rec))
		if !slices.Contains(k.txn.logs, l) {
			k.txn.logs = append(k.txn.logs, l)
		}
		rec.Offset = l.append(rec, k.txn, time.Now())
	}
	return nil
}

func (m *model) stage(s *session, commit *kafka.Commit, member func(*kafka.Commit) error) error {
	k := m.coordinator(s.id)
	if err := k.check(s); err != nil {
		return err
	}
	if err := member(commit); err != nil {
		return err
	}
	k.begin()
	k.staged = func() {
		for topic, parts := range commit.Positions {
			for p, at := range parts {
				m.commit(commit.Group, place{topic, p}, at.Offset)
			}
		}
	}
	return nil
}

func (m *model) finish(s *session, commit bool) error {
	k := m.coordinator(s.id)
	if err := k.check(s); err != nil {
		return err
	}
	if k.txn == nil {
		if commit {
			return kerr.InvalidTxnState
		}
		return nil
	}
	m.end(k, commit)
	return nil
}

// end decides the open transaction. Its control records are written one after the other, a
// little later; until then readers wait in front of it.
func (m *model) end(k *coordinator, commit bool) {
	txn, staged := k.txn, k.staged
	k.txn, k.staged = nil, nil
	txn.open, txn.committed = false, commit
	for _, l := range txn.logs {
		m.later(k, "control record "+l.at.topic, func() { l.endTxn(txn, time.Now()) })
	}
	if commit && staged != nil {
		m.later(k, "commit positions", staged)
	}
}

// later does a part of what ends a transaction.
func (m *model) later(k *coordinator, what string, do func()) {
	k.ending++
	m.someday("cluster/"+k.id, &op{what: what, exec: func() error {
		k.ending--
		do()
		return nil
	}})
}

func (m *model) quiet(id string) bool { return m.coordinator(id).ending == 0 }

func (m *model) open() []string {
	var all []string
	for _, id := range sortedKeys(m.txns) {
		if m.txns[id].txn != nil {
			all = append(all, id)
		}
	}
	return all
}

// overdue lets producers begin anew whose transactions nobody ends in time.
func (m *model) overdue(now time.Time) {
	for _, id := range m.open() {
		if k := m.txns[id]; now.Sub(k.began) > txnTimeout {
			k.epoch++
			m.end(k, false)
		}
	}
}
