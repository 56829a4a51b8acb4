package runners

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// telling is what a session has to tell its pool. One report is on its way at a time: the pool counts events, and would
// count those that come behind a lost report, too.
type telling struct {
	batches []*batch            // of events whose workflows have not been told yet, in order
	next    events.RunnerReport // what is to be told
	flying  bool                // a report is on its way
	failed  bool                // the last one was not taken: it is told again
	retry   time.Duration       // when, at the earliest
	most    int                 // events of a report; 0: mostEvents

	events int           // that the pool has not been told of
	bytes  int64         // of them, in Server.held
	since  time.Duration // when the newest came
	count  uint64        // events of the session that the pool has been told of, from the first on
	acked  uint64        // of those, acknowledged to the runner

	resumed   bool // events have come on this socket
	stopping  bool // the runner has said so, behind the events that came before: its pool must hear of these first
	abandoned bool // nothing that comes is told any more: another socket's reports begin where these have ended
}

// batch is the events of one frame.
type batch struct {
	events []events.RunnerEvent
	waits  int // messages to workflows that are on their way, and 1 until all are
	bytes  int64
}

const (
	mostEvents = 1000 // of one report
	ackEvery   = 500  // events that have counted are acknowledged at the latest behind so many
	overhead   = 512  // bytes that an event costs besides its values

	again = time.Second // behind which a report is told again that was refused
)

// reported takes events: those that are new are told to their workflows and then to the pool.
func (s *session) reported(all []frames.Event) {
	s.mu.Lock()
	fresh := all
	s.resumes(all)
	for len(fresh) > 0 && uint64(fresh[0].Index) < s.nextEvent {
		fresh = fresh[1:]
	}
	s.server.metrics.stale.Add(float64(len(all) - len(fresh)))
	for i := range fresh {
		if uint64(fresh[i].Index) != s.nextEvent+uint64(i) {
			s.mu.Unlock()
			s.server.log.Info("events of a runner are missing; its socket is closed", "pool", s.pool, "runner", s.key, "event", fresh[i].Index)
			s.shut(frames.CloseInvalidPacket)
			return
		}
	}
	if len(fresh) == 0 || s.tells.abandoned {
		s.mu.Unlock()
		return
	}
	s.nextEvent += uint64(len(fresh))
	b := &batch{events: make([]events.RunnerEvent, 0, len(fresh)), waits: 1}
	s.tells.batches = append(s.tells.batches, b)
	s.tells.events += len(fresh)
	s.tells.since = s.server.now()
	name := s.name
	s.mu.Unlock()

	now := time.Now()
	for i := range fresh {
		t, ok := tellOf(&fresh[i], name, now)
		if !ok {
			s.server.metrics.stale.Inc()
		}
		b.events = append(b.events, t.event)
		if t.message != nil {
			s.inform(b, &t)
		}
	}
	s.arrived(b)
}

// resumes notes where the first events of a socket go on. If that is beyond what has counted, the pool has forgotten some, as behind a loss of its
// journal, and the runner has them no more: the pool hears of those that are there, and ends the session for it. The caller holds s.mu.
func (s *session) resumes(all []frames.Event) {
	if s.tells.resumed || len(all) == 0 {
		return
	}
	s.tells.resumed = true
	if first := uint64(all[0].Index); first > s.nextEvent {
		s.server.log.Warn("the pool of a runner has forgotten events of it", "pool", s.pool, "runner", s.key, "from", s.nextEvent, "to", first-1)
		s.nextEvent = first
	}
}

// inform tells a workflow something of a batch.
func (s *session) inform(b *batch, t *told) {
	s.mu.Lock()
	if s.tells.abandoned {
		s.mu.Unlock()
		return
	}
	b.waits++
	size := int64(overhead)
	if o, is := t.message.(*events.TaskOutcome); is {
		size += int64(len(o.Result))
	}
	b.bytes += size
	s.server.held.Add(size)
	s.mu.Unlock()
	s.produce(b, t.workflow, t.message, 0)
}

// produce sends a message of a batch, which was refused so often before.
func (s *session) produce(b *batch, workflow string, m events.InboxMessage, refused int) {
	s.server.say(s.server.reports, workflow, m, func(r *kgo.Record, err error) {
		switch {
		case err == nil:
			s.arrived(b)
		case kafka.IsTooLarge(err):
			go s.misfit(b, workflow, m, r, refused+1) // it asks the broker
		case refused < mostRefusals:
			// Whoever learns that a topic was made anew, or takes less, has the client meet it anew, which fails all that it had of
			// it. A client is not to be given records by its promises: they might wait for room that others make.
			go s.produce(b, workflow, m, refused+1)
		default:
			s.server.log.Error("what a runner has reported is refused; its socket is closed, and it reports again",
				"pool", s.pool, "runner", s.key, "workflow", workflow, "error", err)
			s.abandon()
			s.shut(frames.CloseUnavailable)
			s.flush() // its end may have waited for what was refused
		}
	})
}

// abandon forgets the events whose workflows have not heard of them: the runner tells of them again, on another socket.
func (s *session) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.tells.batches {
		s.server.held.Add(-b.bytes)
	}
	s.tells.batches, s.tells.abandoned = nil, true
}

// mostRefusals is how often a message is sent again that was refused, though nothing is known to be wrong with it.
const mostRefusals = 5

// misfit goes on with a message of a batch that was too large for the inbox, as worker.Worker does (decision 0044).
func (s *session) misfit(b *batch, workflow string, m events.InboxMessage, r *kgo.Record, refused int) {
	limit, _, err := s.server.config.Kafka.LearnLimit(s.server.living, s.server.inbox)
	if err != nil {
		return // the server is closed
	}
	if (kafka.BatchBytes(r) > int(limit) || refused > mostRefusals) && !worker.Shorten(m, int(limit)) {
		s.server.log.Error("what a runner has reported does not fit the inbox and is dropped", "limit", limit, "workflow", workflow)
		s.arrived(b)
		return
	}
	s.produce(b, workflow, m, refused)
}

// arrived notes that something of a batch is in Kafka. What has arrived whole, and all before it, is told to the pool.
func (s *session) arrived(b *batch) {
	s.mu.Lock()
	b.waits--
	t := &s.tells
	for len(t.batches) > 0 && t.batches[0].waits == 0 {
		first := t.batches[0]
		t.batches[0] = nil
		t.batches = t.batches[1:]
		t.next.Events = append(t.next.Events, first.events...)
		t.bytes += first.bytes
	}
	if len(t.batches) == 0 {
		t.batches = nil
	}
	s.mu.Unlock()
	s.flush()
}

// tell changes what the pool is told next.
func (s *session) tell(change func(*events.RunnerReport)) {
	s.mu.Lock()
	change(&s.tells.next)
	s.mu.Unlock()
	s.flush()
}

// stopping notes that the runner wants no more work. What it has begun before, its pool hears first: else that would go elsewhere.
func (s *session) stopping() {
	s.mu.Lock()
	s.tells.stopping = true
	s.mu.Unlock()
	s.flush()
}

// flush tells the pool what there is to tell, unless a report is on its way.
func (s *session) flush() {
	m := s.report()
	if m == nil {
		return
	}
	s.server.say(s.server.reports, s.entity(), m, func(_ *kgo.Record, err error) {
		if s.delivered(m, err) {
			s.server.remove(s)
			return
		}
		if err == nil {
			s.flush()
		}
	})
}

// report is the next report; nil: there is none now.
func (s *session) report() *events.RunnerReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.tells
	m, closed := t.next, t.next.Closed
	stops := t.stopping && len(t.batches) == 0
	if len(t.batches) > 0 {
		m.Closed = "" // the end comes behind what came before it
	}
	if t.flying || s.runner == "" || len(m.Events) == 0 && m.Received == 0 && !m.Stopping && !stops && !m.Silent && !m.Heard && m.Closed == "" {
		return nil
	}
	m.Connection, m.Runner, m.Session = s.of, s.runner, s.session
	t.next = events.RunnerReport{}
	if m.Closed == "" {
		t.next.Closed = closed
	}
	most := mostEvents
	if t.most > 0 {
		most = t.most
	}
	if len(m.Events) > most {
		t.next.Events, t.next.Closed = m.Events[most:], closed // the end comes last
		m.Events, m.Closed = m.Events[:most:most], ""
		t.stopping = t.stopping || m.Stopping
		m.Stopping, stops = false, false
	}
	if stops {
		m.Stopping, t.stopping = true, false
	}
	t.flying, t.failed = true, false
	return &m
}

// delivered notes what became of a report, and reports whether it was the last one.
func (s *session) delivered(m *events.RunnerReport, err error) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.tells
	t.flying = false
	if err != nil {
		t.before(m)
		t.failed, t.retry = true, s.server.now()+again // Server.keep has it told again
		if kafka.IsTooLarge(err) {
			t.most = max(1, len(m.Events)/2)
		}
		s.server.log.Warn("a pool is not told of a runner now; it is tried again", "pool", s.pool, "runner", s.key, "error", err)
		return false
	}
	if n := len(m.Events); n > 0 {
		t.count = m.Events[n-1].Index + 1
		t.events -= n
		if len(t.next.Events) == 0 {
			s.server.held.Add(-t.bytes)
			t.bytes = 0
		}
		s.acknowledge(false)
		s.stirred()
	}
	return m.Closed != ""
}

// before puts a report before what is told next.
func (t *telling) before(m *events.RunnerReport) {
	n := &t.next
	n.Events = append(m.Events, n.Events...)
	n.Received = max(n.Received, m.Received)
	n.Stopping = n.Stopping || m.Stopping
	if !n.Silent && !n.Heard {
		n.Silent, n.Heard = m.Silent, m.Heard
	}
	if n.Closed == "" {
		n.Closed = m.Closed
	}
}

// acknowledge tells the runner which events have counted, if those are many, or no more come for a while. The caller holds s.mu.
func (s *session) acknowledge(idle bool) {
	t := &s.tells
	if t.count == t.acked || !idle && t.count-t.acked <= ackEvery {
		return
	}
	t.acked = t.count
	s.enqueue(&frames.ToClientAckEvents{LastEventIdx: int64(t.count) - 1})
}
