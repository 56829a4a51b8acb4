package sim

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// needless knows what was asked to run again, though it needed not: who publishes a
// task again has read the inbox as far as it went when he took the partition over,
// and when he asked how far the workers are (E1, E3). Times are counted in what was
// noted. The world's mu guards it.
type needless struct {
	now      int64
	sent     map[string]sent   // tokens of tasks that were sent to a queue, and how last
	reported map[string]report // tokens, and when their result was first in the inbox
	claimed  map[lease]int64   // when an owner took a partition over last
	looked   map[look][]int64  // when an owner asked, for a partition, what a group has committed
	lost     map[int32]bool    // partitions whose inbox has lost records, which no owner has noticed yet
}

// look is an owner's question for a partition about a group.
type look struct {
	lease
	group string
}

// sent is who sent a task when.
type sent struct {
	at     int64
	by     lease
	failed bool // as far as its sender knows: it sends it again whatever is reported
}

type report struct {
	at        int64
	partition int32
}

func newNeedless() needless {
	return needless{sent: map[string]sent{}, reported: map[string]report{}, claimed: map[lease]int64{}, looked: map[look][]int64{}, lost: map[int32]bool{}}
}

func (r *needless) tick() int64 {
	r.now++
	return r.now
}

// noteReport notes takeovers, and results that reach the partition that waits for
// them.
func (w *world) noteReport(rec *kgo.Record, p int32) {
	r := &w.needless
	switch rec.Topic {
	case w.c.names.Journal():
		if h, err := journal.ParseHeaders(rec.Headers); err == nil && h.Position.Seq == 1 {
			w.noteClaim(rec, p)
		}
		w.noteNoticed(rec, p)
	case w.c.names.Inbox():
		m, err := events.DecodeInbox(rec.Value)
		o, ok := m.(*events.TaskOutcome)
		if err != nil || !ok || o.Outcome != events.OutcomeCompleted || p != w.audit.partition(string(rec.Key)) {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, known := r.reported[string(o.Token)]; !known && !r.lost[p] {
			r.reported[string(o.Token)] = report{r.tick(), p}
		}
	}
}

func (w *world) noteClaim(in *kgo.Record, p int32) {
	rec, err := journal.Decode(in)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range rec.Events {
		if a, ok := e.(*events.AuthorityAcquired); ok {
			w.needless.claimed[lease{partitionName(p), a.Owner}] = w.needless.tick()
		}
	}
}

// noteLook notes that an owner was told what a group has committed.
func (w *world) noteLook(ctx context.Context, n *node, group string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := look{lease{who(ctx), n.owner}, group}
	w.needless.looked[l] = append(w.needless.looked[l], w.needless.tick())
}

// noteNoticed notes that an owner has found out that an inbox has lost records.
func (w *world) noteNoticed(in *kgo.Record, p int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.needless.lost[p] {
		return
	}
	rec, err := journal.Decode(in)
	if err != nil {
		return
	}
	for _, e := range rec.Events {
		if t, ok := e.(*events.InputLogTruncated); ok && t.Log == events.FromInbox {
			delete(w.needless.lost, p)
		}
	}
}

// forgetReports is for an inbox that has lost records: what it held may be needed
// again. Until its owner has noticed, what it gets in their place may be taken for what
// was read there: tasks are run again then, needlessly, but for nothing worse.
func (w *world) forgetReports(at place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at.topic == w.c.names.Inbox() {
		w.needless.lost[at.partition] = true
	}
	for token, r := range w.needless.reported {
		if at == (place{w.c.names.Inbox(), r.partition}) {
			delete(w.needless.reported, token)
		}
	}
}

// checkRepeat holds a task that an owner sends again against what was reported. What it returns takes what becomes
// of the sending.
func (l *leash) checkRepeat(ctx context.Context, rec *kgo.Record) (became func(error)) {
	w := l.n.w
	queue, ok := w.c.names.Queue(rec.Topic)
	if !ok {
		return func(error) {}
	}
	var task events.Task
	if wire.Unmarshal(rec.Value, &task) != nil {
		return func(error) {} // the worker that takes it says so
	}
	token := string(task.Token)
	w.mu.Lock()
	r := &w.needless
	last, again := r.sent[token]
	reported, owner := r.reported[token].at, lease{who(ctx), l.n.owner}
	now := sent{at: r.tick(), by: owner}
	r.sent[token] = now
	known := r.knows(last, look{owner, w.c.names.QueueGroup(queue)})
	w.mu.Unlock()
	if again && reported > 0 && reported < known {
		w.failAbout(w.workflow(string(rec.Key)), "%s publishes %s of %s, attempt %d, again, whose result was in the inbox before it looked (E1)", l.n.name, task.Component, rec.Key, task.Attempt)
	}
	return func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil && r.sent[token] == now {
			now.failed = true
			r.sent[token] = now
		}
	}
}

// knows is how far an owner must have read, as of which tick, who sends again what was sent like that: to where it was at the
// takeover, or at the first look since the last time, if that was in the same tenure. Later looks may have been for others: what is
// to be sent waits for an end that was seen behind its own.
func (r *needless) knows(last sent, l look) int64 {
	claimed := r.claimed[l.lease]
	if last.by != l.lease || last.at < claimed || last.failed {
		return claimed
	}
	for _, at := range r.looked[l] {
		if at > last.at {
			return at
		}
	}
	return claimed
}
