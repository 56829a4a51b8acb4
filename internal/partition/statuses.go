package partition

import (
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

const (
	// statusDelay is how long a summary waits under load for a newer one that
	// takes its place; it is a small part of the lease's margin at most.
	statusDelay = 500 * time.Millisecond
	// statusesAtOnce are sent without a wait in each such time.
	statusesAtOnce = 32
)

// statuses brings the summaries of workflows to their topic. A summary holds all
// that those before it say, and the topic keeps the newest: under load a
// workflow that ends soon is told of once instead of at every turn. None is sent
// behind a newer one of its workflow: a list that is made of the topic again
// would show it for ever.
type statuses struct {
	delay time.Duration

	order   sync.Mutex // held while a summary is sent: no newer one overtakes
	since   time.Time
	sent    int        // since then
	waiting []*summary // the one that waits longest first
	armed   bool       // a timer runs

	mu     sync.Mutex          // not held while one is sent: its outcome may come at once
	newest map[string]*summary // of each workflow, until it is out
}

// summary is one on its way. The lock of mu guards it, and that of order what it
// sends and when.
type summary struct {
	log   *kafkaLog
	out   *loop.Outgoing
	due   time.Time
	waits bool // to be sent
	away  bool // not sent in time, or refused for a while: its owner has it
}

func newStatuses(s *loop.Settings) *statuses {
	return &statuses{delay: min(statusDelay, s.Margin/4), newest: map[string]*summary{}}
}

// put sends a summary, now or a little later. A summary whose place another one
// takes is out: an owner that recovers finds the newer record behind its own and releases
// that one's summary again. It is so before the newer one is, or a crash in
// between would leave it in the outbox alone.
func (s *statuses) put(l *kafkaLog, o *loop.Outgoing) {
	s.order.Lock()
	defer s.order.Unlock()
	w := s.enter(l, o)
	if w == nil {
		return
	}
	now := time.Now()
	if now.Sub(s.since) >= s.delay {
		s.since, s.sent = now, 0
	}
	if s.sent < statusesAtOnce {
		s.sent++
		s.send(w)
		return
	}
	s.wait(w, now)
}

// enter makes a summary the newest of its workflow. Nil means that it need not
// be sent: one that waits is this one now, or a newer one took its place.
func (s *statuses) enter(l *kafkaLog, o *loop.Outgoing) *summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.newest[o.Key]
	switch {
	case o.Passed:
		return nil
	case w == nil:
	case w.out.Decided == o.Decided && w.away: // the same again
		w.log, w.out, w.away = l, o, false
		return w
	case o.Decided.Before(w.out.Decided):
		l.box.Produced(loop.Produced{Out: o})
		return nil
	case w.waits:
		w.log.box.Produced(loop.Produced{Out: w.out})
		w.log, w.out = l, o
		return nil
	default:
		s.pass(w)
	}
	w = &summary{log: l, out: o}
	s.newest[o.Key] = w
	return w
}

// pass lets a newer summary take the place of one whose outcome is not known, or
// that its owner is to send again, which it need not any more.
func (s *statuses) pass(w *summary) {
	w.out.Passed = true
	if w.away {
		w.log.box.Produced(loop.Produced{Out: w.out})
	}
}

// wait keeps a summary for a newer one.
func (s *statuses) wait(w *summary, now time.Time) {
	s.mu.Lock()
	w.waits = true
	s.mu.Unlock()
	w.due = now.Add(s.delay)
	s.waiting = append(s.waiting, w)
	s.arm(now)
}

// send produces a summary within the order's lock.
func (s *statuses) send(w *summary) {
	l, o := w.log, w.out
	l.host.status.Produce(l.ctx, &o.Record, func(r *kgo.Record, err error) {
		l.within(func() { s.answered(w, l, o, r, err) })
	})
}

// answered takes what the broker says of a summary that was sent.
func (s *statuses) answered(w *summary, l *kafkaLog, o *loop.Outgoing, r *kgo.Record, err error) {
	switch {
	case l.over(o, r, err):
		s.done(w)
	case kafka.IsTooLarge(err):
		l.judge(r, err, func() {
			s.done(w)
			l.box.Produced(loop.Produced{Out: o, Err: err})
		}, func(err error) { s.later(w, l, o, err) })
	default:
		s.later(w, l, o, err)
	}
}

// later gives a summary that the broker did not take back to its owner, unless a newer
// one was sent meanwhile.
func (s *statuses) later(w *summary, l *kafkaLog, o *loop.Outgoing, err error) {
	if s.refused(w) {
		l.shut(o, err)
	}
}

// done forgets a summary that is out.
func (s *statuses) done(w *summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.out.Passed {
		delete(s.newest, w.out.Key)
	}
}

// refused reports whether a summary that the broker did not take is to be sent
// again: not if a newer one was sent meanwhile.
func (s *statuses) refused(w *summary) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.out.Passed {
		w.log.box.Produced(loop.Produced{Out: w.out})
		return false
	}
	w.away = true
	return true
}

// forget drops what is known of a tenure that has ended: it sends nothing more.
func (s *statuses) forget(l *kafkaLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.newest, func(_ string, w *summary) bool {
		if w.log == l {
			w.out.Passed = true
		}
		return w.log == l
	})
}

// flushDue sends what has waited long enough.
func (s *statuses) flushDue() {
	s.order.Lock()
	defer s.order.Unlock()
	now := time.Now()
	s.armed = false
	s.flush(func(w *summary) bool { return !w.due.After(now) })
	s.arm(now)
}

// arm sees to it that a timer runs while something waits.
func (s *statuses) arm(now time.Time) {
	if !s.armed && len(s.waiting) > 0 {
		s.armed = true
		time.AfterFunc(s.waiting[0].due.Sub(now), s.flushDue)
	}
}

// flushAll sends everything that waits.
func (s *statuses) flushAll() {
	s.order.Lock()
	defer s.order.Unlock()
	s.flush(func(*summary) bool { return true })
}

// flush sends what is due.
func (s *statuses) flush(due func(*summary) bool) {
	late := time.Now().Add(-s.delay)
	for len(s.waiting) > 0 && due(s.waiting[0]) {
		w := s.waiting[0]
		s.waiting[0], s.waiting = nil, s.waiting[1:]
		w.log.within(func() { s.letGo(w, w.due.Before(late)) })
	}
	if len(s.waiting) == 0 {
		s.waiting = nil
	}
}

// letGo sends what has waited. One that is late by more than it should have waited
// goes back to its owner, who looks at the lease again: the process may have stood
// still.
func (s *statuses) letGo(w *summary, late bool) {
	s.mu.Lock()
	w.waits, w.away = false, late
	s.mu.Unlock()
	if late {
		w.log.releaseAgain(w.out)
	} else {
		s.send(w)
	}
}
