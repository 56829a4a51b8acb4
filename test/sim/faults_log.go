package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// someStream is a stream with operations that has a property; nil if none has.
func (w *injector) someStream(rng *rand.Rand, is func(*stream) bool) *stream {
	var all []*stream
	for _, s := range w.c.sorted() {
		if is(s) {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[rng.IntN(len(all))]
}

// failAppend lets the broker forget what a journal's producer has written: its
// appends fail for good, the next one perhaps after it was written. Or some of them
// are acknowledged as repetitions, and nobody says where they are.
func (w *injector) failAppend(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	s := w.someStream(rng, func(s *stream) bool { return s.journal != nil && s.journal.stopped == nil && !s.owner.dead })
	if s == nil {
		return
	}
	if rng.IntN(3) == 0 {
		s.journal.blind = 1 + rng.IntN(20)
		return
	}
	if o := s.next(); o != nil && rng.IntN(2) == 0 {
		_ = o.exec() // it is written all the same
	}
	s.journal.stopped = kerr.OutOfOrderSequenceNumber
	for _, o := range s.asked {
		if !o.executed {
			o.executed, o.err = true, s.journal.stopped
		}
	}
}

// failEffect fails an effect, perhaps after it was written.
func (w *injector) failEffect(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	s := w.someStream(rng, func(s *stream) bool {
		return s.kind == sending && s.journal == nil && s.owner != nil && !s.asked[0].executed
	})
	if s == nil {
		return
	}
	o := s.asked[0]
	if rng.IntN(2) == 0 {
		_ = o.exec()
	}
	o.executed, o.err = true, kerr.NotLeaderForPartition
}

// loseReply loses a reply on its way to a caller.
func (w *injector) loseReply(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	s := w.someStream(rng, func(s *stream) bool {
		return strings.HasSuffix(s.name, "/replies") && !s.asked[0].gone && s.asked[0].isReady()
	})
	if s != nil {
		_ = s.asked[0].exec() // read, and given to nobody
	}
}

// repeatInput writes a record of an input log again.
func (w *injector) repeatInput(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for range 1 + rng.IntN(3) {
		if rec := w.someRecord(rng, w.someInput(rng)); rec != nil {
			w.put(rec)
		}
	}
}

func (w *injector) someInput(rng *rand.Rand) place {
	topic := w.c.names.Inbox()
	if rng.IntN(2) == 0 {
		topic = w.c.names.Commands()
	}
	return place{topic, int32(rng.IntN(int(w.c.partitions)))}
}

// input is the log of a partition's inputs from a source.
func (w *injector) input(s events.Source, p int32) place {
	if s == events.FromCommands {
		return place{w.c.names.Commands(), p}
	}
	return place{w.c.names.Inbox(), p}
}

// someRecord is a record of an input log, to be written again; nil if there is none.
func (w *injector) someRecord(rng *rand.Rand, at place) *kgo.Record {
	start, end := w.c.offset(at, starts), w.c.offset(at, ends)
	if start == end {
		return nil
	}
	offset := start + rng.Int64N(end-start)
	recs, _, err := w.c.brokers.fetch(at, offset, w.c.brokers.epoch(at), 1)
	if err != nil || len(recs) == 0 || recs[0].Attrs.IsControl() { // it is in a transaction
		return nil
	}
	rec := recs[0]
	rec.Timestamp = time.Time{} // it gets a stamp of its own
	return rec
}

// truncateInput cuts the newest records off an input log.
func (w *injector) truncateInput(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	at := w.someInput(rng)
	if w.promised(at) {
		return
	}
	w.thinned[at], w.replaced[at] = true, true
	l := w.c.brokers.(*model).log(at)
	w.forgetReports(at)
	l.cut(max(l.start, l.end()-int64(1+rng.IntN(4))))
}

// remakeInput deletes an input topic, or that of the questions, and makes it anew.
func (w *injector) remakeInput(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	topic := w.someInput(rng).topic
	if rng.IntN(4) == 0 {
		topic = w.c.names.Queries()
	}
	for p := range w.c.partitions {
		if w.promised(place{topic, p}) {
			return
		}
	}
	for p := range w.c.partitions {
		w.thinned[place{topic, p}], w.replaced[place{topic, p}] = true, true
	}
	w.c.remake(w.c.topics[topic])
	for p := range w.c.partitions {
		w.forgetReports(place{topic, p})
	}
}

// expireInput removes the oldest records of an input log, read or not.
func (w *injector) expireInput(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.expire(rng, w.someInput(rng))
}

// expire removes the oldest records of an input log; w.c.mu is held.
func (w *injector) expire(rng *rand.Rand, at place) {
	start, end := w.c.offset(at, starts), w.c.offset(at, ends)
	if end > start && !w.promised(at) {
		w.forgetReports(at)
		w.thinned[at] = true
		w.c.brokers.expire(at, start+1+rng.Int64N(end-start))
		w.watchLosses()
	}
}

// promised reports whether callers may have been told of what follows from inputs in a
// log that no record that counts has decided yet: by an owner that an operator's word
// has deposed. Only the inputs themselves keep such a promise, so they are not lost too.
func (w *injector) promised(at place) bool {
	return w.doubtful[at.partition] > 0 && at.topic != w.c.names.Queries()
}

// abortTxn lets the cluster end a transaction that is open, and its producer begin anew.
func (w *injector) abortTxn(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	open := w.c.brokers.open()
	if len(open) == 0 {
		return
	}
	if _, err := w.c.brokers.initialize(open[rng.IntN(len(open))]); err != nil {
		w.note("  %v", err)
	}
}

// foreignTxn lets another system write to an input log in a transaction, which it
// leaves open for a while. What it writes is there already, and known.
func (w *injector) foreignTxn(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	at := w.someInput(rng)
	rec := w.someRecord(rng, at)
	if rec == nil {
		return
	}
	w.foreigners++
	id := fmt.Sprintf("another-system-%d", w.foreigners)
	s, err := w.c.brokers.initialize(id)
	if err == nil {
		rec.Topic, rec.Partition = at.topic, at.partition
		err = w.c.produce(s, []*kgo.Record{rec})
	}
	if err != nil {
		w.note("  %v", err)
		return
	}
	commit := rng.IntN(2) == 0
	w.at(millis(rng, 100, 12_000), id+" ends its transaction", func() {
		w.c.mu.Lock()
		defer w.c.mu.Unlock()
		if err := w.c.finish(s, commit); err != nil { // the cluster was faster
			w.note("  %v", err)
		}
	})
}

// poisonInput writes records that cannot be understood, belong elsewhere, have
// no id, or are as large as a record may be.
func (w *injector) poisonInput(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	at := w.someInput(rng)
	key := []byte(w.plan.Workflows[rng.IntN(len(w.plan.Workflows))].ID)
	commands := at.topic == w.c.names.Commands()
	switch rng.IntN(4) {
	case 0:
		w.put(kafka.Placed(at.topic, at.partition, key, []byte("{no json")))
	case 1: // to a partition that may be the wrong one
		if rec := w.someRecord(rng, at); rec != nil {
			rec.Partition = int32(rng.IntN(int(w.c.partitions)))
			w.put(rec)
		}
	case 2:
		w.put(kafka.Keyed(at.topic, key, make([]byte, smallRecord-len(key))))
	case 3:
		if commands { // a command without an id, that changes nothing
			w.put(kafka.Placed(at.topic, at.partition, key, []byte(`{}`), kafka.Header(events.HeaderType, []byte(events.CommandType("checkpoint")))))
		} else {
			w.put(kafka.Keyed(at.topic, key, events.EncodeInbox(&events.TaskOutcome{Token: []byte("not a token of ours"), Outcome: events.OutcomeCompleted})))
		}
	}
}

func (w *injector) put(rec *kgo.Record) {
	if err := w.c.write(rec); err != nil {
		w.note("  %v", err)
	}
}
