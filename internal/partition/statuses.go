package partition

import (
	"sync"
	"time"
)

const (
	// statusDelay is how long a summary waits under load for a newer one that
	// takes its place; it is a small part of the lease's margin at most (E5).
	statusDelay = 500 * time.Millisecond
	// statusesAtOnce are sent without a wait in each such time.
	statusesAtOnce = 32
)

// statuses brings the summaries of workflows to their topic. A summary holds all
// that those before it say, and the topic keeps the newest: under load a
// workflow that ends soon is told of once instead of at every turn.
type statuses struct {
	delay time.Duration

	mu      sync.Mutex
	since   time.Time
	sent    int                 // since then
	waiting map[string]*summary // by workflow
	order   []*summary          // the one that waits longest first
	armed   bool                // a timer runs
}

// summary is one on its way.
type summary struct {
	log *kafkaLog
	out *Outgoing
	due time.Time
}

func newStatuses(s *Settings) *statuses {
	return &statuses{delay: min(statusDelay, s.Margin/4), waiting: map[string]*summary{}}
}

// put sends a summary, now or a little later. A summary whose place another one
// takes is out: who recovers finds the newer record behind its own and releases
// that one's summary again.
func (s *statuses) put(l *kafkaLog, o *Outgoing) {
	if log, old := s.enter(l, o); old != nil {
		log.box.produced(Produced{Out: old})
	}
}

// enter returns the summary that is not needed any more, if there is one.
func (s *statuses) enter(l *kafkaLog, o *Outgoing) (*kafkaLog, *Outgoing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.waiting[o.Key]; w != nil {
		if o.Decided.Before(w.out.Decided) { // the broker refused it for a while
			return l, o
		}
		log, old := w.log, w.out
		w.log, w.out = l, o
		return log, old
	}
	now := time.Now()
	if now.Sub(s.since) >= s.delay {
		s.since, s.sent = now, 0
	}
	if s.sent < statusesAtOnce {
		s.sent++
		l.send(l.host.status, o)
		return nil, nil
	}
	w := &summary{log: l, out: o, due: now.Add(s.delay)}
	s.waiting[o.Key] = w
	s.order = append(s.order, w)
	s.arm(now)
	return nil, nil
}

// flushDue sends what has waited long enough.
func (s *statuses) flushDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.armed = false
	s.flush(func(w *summary) bool { return !w.due.After(now) })
	s.arm(now)
}

// arm sees to it that a timer runs while something waits.
func (s *statuses) arm(now time.Time) {
	if !s.armed && len(s.order) > 0 {
		s.armed = true
		time.AfterFunc(s.order[0].due.Sub(now), s.flushDue)
	}
}

// flushAll sends everything that waits.
func (s *statuses) flushAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush(func(*summary) bool { return true })
}

// flush sends within the lock, so that no newer summary overtakes. One that is
// late by more than it should have waited goes back to its owner, who looks at
// the lease again: the process may have stood still (E5).
func (s *statuses) flush(due func(*summary) bool) {
	late := time.Now().Add(-s.delay)
	n := 0
	for n < len(s.order) && due(s.order[n]) {
		w := s.order[n]
		delete(s.waiting, w.out.Key)
		if o := w.out; w.due.Before(late) {
			w.log.box.do(func(p *Processor) { p.releaseAgain(o) })
		} else {
			w.log.send(w.log.host.status, o)
		}
		s.order[n] = nil
		n++
	}
	if s.order = s.order[n:]; len(s.order) == 0 {
		s.order = nil
	}
}
