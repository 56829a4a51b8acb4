package sim

import (
	"time"

	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// telling is what a socket has to tell its pool. One report is on its way at a time.
type telling struct {
	batches  []*eventBatch // of events whose workflows have not been told yet, in order
	next     events.RunnerReport
	flying   bool
	since    time.Time // when the newest event came
	count    uint64    // events that the pool has been told of
	acked    uint64    // of those, acknowledged to the runner
	stopping bool      // the runner has said so, behind the events that came before
	resumed  bool      // events have come on this socket
}

// eventBatch is the events of one frame.
type eventBatch struct {
	events []events.RunnerEvent
	waits  int // messages to workflows that are on their way, and 1 until all are
}

// reported takes events: those that are new are told to their workflows and then to the pool.
func (s *socket) reported(all []frames.Event) {
	s.resumes(all)
	for len(all) > 0 && uint64(all[0].Index) < s.nextEvent {
		all = all[1:]
	}
	if len(all) == 0 {
		return
	}
	b := &eventBatch{waits: 1}
	s.batches = append(s.batches, b)
	s.since = time.Now()
	for i := range all {
		if uint64(all[i].Index) != s.nextEvent {
			s.x.g.w.fail("event %d of %s comes behind %d events", all[i].Index, s, s.nextEvent)
		}
		s.nextEvent++
		event, workflow, m := runners.Reported(&all[i], s.name, s.since)
		b.events = append(b.events, event)
		if m != nil {
			b.waits++
			s.x.say("reports", workflow, m, func() { s.arrived(b) })
		}
	}
	s.arrived(b)
}

// resumes notes where the first events of a socket go on: beyond what has counted where the inbox of the pool has lost some.
func (s *socket) resumes(all []frames.Event) {
	first := !s.resumed && len(all) > 0
	s.resumed = s.resumed || first
	inbox := place{s.x.g.w.c.names.Inbox(), s.x.g.w.audit.partition(s.pool)}
	if first && s.x.g.w.thinned[inbox] {
		s.nextEvent = max(s.nextEvent, uint64(all[0].Index))
	}
}

// arrived notes that something of a batch is in Kafka. What has arrived whole, and all before it, is told to the pool.
func (s *socket) arrived(b *eventBatch) {
	b.waits--
	for len(s.batches) > 0 && s.batches[0].waits == 0 {
		s.next.Events = append(s.next.Events, s.batches[0].events...)
		s.batches = s.batches[1:]
	}
	s.flush()
}

// flush tells the pool what there is to tell, unless a report is on its way.
func (s *socket) flush() {
	m := s.next
	stops := s.stopping && len(s.batches) == 0
	if s.flying || s.runner == "" || len(m.Events) == 0 && m.Received == 0 && !stops && !m.Silent && !m.Heard && m.Closed == "" {
		return
	}
	m.Connection, m.Runner, m.Session = s.of, s.runner, s.session
	if stops {
		m.Stopping, s.stopping = true, false
	}
	s.next, s.flying = events.RunnerReport{}, true
	s.x.say("reports", s.pool, &m, func() {
		s.flying = false
		if n := len(m.Events); n > 0 {
			s.count = m.Events[n-1].Index + 1
		}
		if m.Closed != "" {
			s.x.remove(s)
			return
		}
		s.flush()
	})
}

// acknowledge tells the runner which events have counted.
func (s *socket) acknowledge() {
	s.acked = s.count
	s.send(&frames.ToClientAckEvents{LastEventIdx: int64(s.count) - 1})
}
