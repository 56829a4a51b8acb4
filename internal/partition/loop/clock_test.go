package loop

import (
	"errors"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

func TestJ2AnOwnerBehindTheBrokersClockDecidesNoOutcome(t *testing.T) {
	m := newModel(t, Settings{})
	task := m.running("w")
	n := len(m.journal)
	m.now = m.now.Add(time.Minute)
	m.outcome(task, "1")
	m.now = m.now.Add(-time.Minute)
	var clock *ClockError
	if err := m.step(); !errors.As(err, &clock) || clock.Ahead != 60_000 || len(m.journal) != n {
		t.Errorf("got %v and %s", err, m)
	}
}

// One record with a stamp that a broker with a wrong clock has made stops nothing
// for long, and neither the window nor timers run ahead with it.
func TestJ2AStampAheadOfARightClockStopsNothing(t *testing.T) {
	m := newModel(t, Settings{Window: time.Hour})
	m.p.clock.excused = 25 * time.Hour.Milliseconds()
	at := m.now
	m.now = at.Add(24 * time.Hour)
	m.command("a", "w", "start", `{"definition":"counter"}`)
	m.now = at
	m.mustStep()
	m.ack()
	if got := m.record(0).Input.Stamp; got != at.UnixMilli() {
		t.Errorf("it is recorded as of %d, want the clock's %d", got, at.UnixMilli())
	}
	if got := m.p.inputs[events.FromCommands].readTo; got != at.UnixMilli() {
		t.Errorf("commands count as read to %d, want %d", got, at.UnixMilli())
	}
	m.command("b", "w", "input", `{"input":1}`)
	m.mustStep()
	if m.ack(); m.names(1) != "InputAccepted RunnableDispatched " {
		t.Errorf("the next command is %s", m.names(1))
	}
}

// A claimant that waits while another owner decides does not run ahead of it.
func TestJ2TimeGoesOnFromTheNewestRecordNotFromTheBeginningOfTheWait(t *testing.T) {
	m := newModel(t, Settings{})
	m.p.Tick()
	m.now = m.now.Add(10 * time.Second)
	m.p.took(&events.Record{Time: m.now.UnixMilli()}, m.p.tail)
	m.now = m.now.Add(time.Second)
	m.p.Tick()
	if got, want := m.p.clock.now, m.now.UnixMilli(); got != want {
		t.Errorf("a second after a replayed record it is %d ms later than by the clock", got-want)
	}
}

// An owner stops a term after its last renewal by any clock, also if the renewal
// was made by one that was ahead: its successor waits no longer.
func TestE5ALeaseOfAClockThatWasAheadEndsInTime(t *testing.T) {
	m := newModel(t, Settings{Lease: 10 * time.Second, Margin: 2 * time.Second})
	m.now = m.now.Add(9 * time.Second)
	m.mustStep()
	m.batch.Renewed = append(m.batch.Renewed, Renewed{Until: m.p.Renewal()})
	m.now = m.now.Add(-9 * time.Second)
	m.mustStep()
	if !m.p.Leased() {
		t.Error("the renewed lease does not count")
	}
	m.now = m.now.Add(9 * time.Second)
	m.mustStep()
	if m.p.Leased() {
		t.Error("a second before the end of the lease effects are released")
	}
}

// Record time never goes back, so it stays ahead once a clock was. A client that asks has
// the clock of the day.
func TestJ2QueriesExpireByTheClockOfTheDay(t *testing.T) {
	m := newModel(t, Settings{})
	m.command("start", "w", "start", `{"definition":"counter"}`)
	m.mustStep()
	m.ack()
	m.now = m.now.Add(time.Second)
	m.p.clock.met(m.now.Add(time.Hour).UnixMilli()) // of a record that was made by a wrong clock
	m.p.lease.LeasedUntil = m.now.Add(2 * time.Hour).UnixMilli()
	q := &events.Query{Kind: "workflow", Workflow: "w", ReplyTo: events.ReplyTo{Address: "tester", ID: "q"}, Deadline: m.now.Add(30 * time.Second).UnixMilli()}
	m.batch.Queries = append(m.batch.Queries, q)
	m.mustStep()
	m.ends()
	m.mustStep()
	if n := m.p.Stats.Expired.Load(); n != 0 || m.p.Stats.Queries.Load() != 1 {
		t.Errorf("%d queries expired, %d were answered", n, m.p.Stats.Queries.Load())
	}
}

// Record time stays ahead for ever once a clock was. What waits for the ends of
// the inputs must not wait until the clock of the day is there too.
func TestJ5ATimeoutFiresThoughRecordTimeIsAheadOfTheClock(t *testing.T) {
	m := newModel(t, Settings{Lease: 3 * time.Hour})
	m.p.clock.met(m.now.Add(time.Hour).UnixMilli()) // as a replay finds it
	m.mustTimeOut()
}

// By a clock that has jumped the lease has run out. What would be decided by it
// would be so far ahead for ever, and the leases of all that follow with it.
func TestJ2NothingIsDecidedByAClockThatJumpsBeyondTheLease(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	m.ack()
	n := len(m.journal)
	m.now = m.now.Add(time.Hour)
	m.command("x", "w", "input", `{"input":1}`)
	m.mustStep()
	if len(m.journal) > n {
		t.Errorf("it was decided at %d, an hour ahead", m.record(n).Time)
	}
}
