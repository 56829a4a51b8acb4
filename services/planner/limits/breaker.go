package limits

import (
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// A breaker grants every request at once while it is closed, none while it is open, and one at a time, the probe,
// while it is half open. Holders have rows in each state: so a return that comes twice counts once. What an attempt
// came to counts in the state in which its permit was granted, and in no later one.

// Memory is how long a breaker that nobody uses remembers failures, or that it is half open.
const Memory = 24 * time.Hour

// breaker is what a breaker is at, beside what each key is.
type breaker struct {
	State    events.BreakerState
	Failures uint64 // in a row, of permits that were granted since it has closed, and the probes'
	Turned   int64  // Unix ms of the last change of state; 0: it began closed
	Until    int64  // Unix ms: it is open until then
	Used     int64  // Unix ms of the last request or return
	Turn     uint64 // how often its state has changed
	Probe    uint64 // number of the probe that is out; 0: none is
}

// Fields implements wire.Message.
func (b *breaker) Fields(c *wire.Codec) {
	wire.Int(c, 1, "state", &b.State)
	wire.Int(c, 2, "failures", &b.Failures)
	wire.Int(c, 3, "turned", &b.Turned)
	wire.Int(c, 4, "until", &b.Until)
	wire.Int(c, 5, "used", &b.Used)
	wire.Int(c, 6, "turn", &b.Turn)
	wire.Int(c, 7, "probe", &b.Probe)
}

// breaks reports whether the key is a breaker.
func (t *turn) breaks() bool { return t.kind == events.BreakerKey }

// lets is how many permits a breaker grants in one record.
func (b *breaker) lets() uint64 {
	switch {
	case b.State == events.BreakerClosed:
		return mostEach
	case b.State == events.BreakerHalfOpen && b.Probe == 0:
		return 1
	}
	return 0
}

// denies reports whether a breaker lets a request fail rather than wait.
func (t *turn) denies(limit events.KeyLimit) bool {
	return limit.Fails && t.head != nil && t.head.Breaker.lets() == 0
}

// judge turns a breaker by what has become of an attempt: before is what it was at.
func (t *turn) judge(n request, before breaker, verdict events.Verdict) {
	b := t.head.Breaker
	probe := before.Probe == n.Number && before.State == events.BreakerHalfOpen
	switch {
	case probe && verdict == events.VerdictSucceeded:
		t.emit(&events.BreakerTurned{To: events.BreakerClosed})
	case probe && verdict == events.VerdictFailed, b.State == events.BreakerClosed && b.Failures > before.Failures && b.Failures >= t.head.Limit.Limit:
		t.emit(&events.BreakerTurned{To: events.BreakerOpen, Failures: b.Failures, Until: t.now + int64(t.head.Limit.Per)})
	}
}

// tries makes a breaker half open whose time is over.
func (t *turn) tries() {
	if b := t.head.Breaker; b.State == events.BreakerOpen && b.Until <= t.now {
		t.emit(&events.BreakerTurned{To: events.BreakerHalfOpen, Failures: b.Failures})
	}
}

// forgets reports whether there is nothing to remember of a breaker that nobody waits for, or holds a permit of.
func (b *breaker) forgets(now int64) bool {
	return b.due() == 0 || b.State != events.BreakerOpen && b.due() <= now
}

// due is when something happens to a breaker without anybody's doing: it tries, or forgets; 0: nothing does.
func (b *breaker) due() int64 {
	switch {
	case b.State == events.BreakerOpen:
		return b.Until
	case b.State == events.BreakerClosed && b.Failures == 0:
		return 0
	}
	return max(b.Used, b.Turned) + Memory.Milliseconds()
}

// denied takes note of a request that is denied.
func (t *turn) denied(e *events.PermitDenied) {
	if t.head != nil {
		h := t.h()
		h.Limit, h.Breaker.Used = e.Limit, t.now
	}
}

// turned changes the state of a breaker.
func (t *turn) turned(e *events.BreakerTurned) {
	if t.head != nil {
		b := &t.h().Breaker
		b.State, b.Failures, b.Until, b.Turned = e.To, e.Failures, e.Until, t.now
		b.Turn, b.Probe = b.Turn+1, 0
	}
}

// lent takes note of a permit of a breaker that is granted.
func (b *breaker) lent(n *request) {
	n.Turn = b.Turn
	if b.State == events.BreakerHalfOpen {
		b.Probe = n.Number
	}
}

// back takes note of a permit of a breaker that is over.
func (b *breaker) back(n *request, verdict events.Verdict) {
	if b.Probe == n.Number {
		b.Probe = 0
	}
	switch {
	case !n.Issued || n.Turn != b.Turn || b.State == events.BreakerOpen:
	case verdict == events.VerdictFailed:
		b.Failures++
	case verdict == events.VerdictSucceeded:
		b.Failures = 0
	}
}

// show shows the state of a breaker.
func (b *breaker) show(v *events.KeySummary) {
	v.State, v.Failures = b.State.String(), b.Failures
	if b.Turned != 0 {
		v.Turned = events.Stamp(b.Turned).String()
	}
	if b.State == events.BreakerOpen {
		v.Next = events.Stamp(b.Until).String()
	}
}

var _ machine.Teller = Machine{}

// Tells reports whether telemetry is told of events of e's type: of breakers whose state changes.
func Tells(e events.Event) bool {
	_, turned := e.(*events.BreakerTurned)
	return turned
}

// Tell implements machine.Teller.
func (Machine) Tell(_, _ *rows.Tx, rec *events.Record, _ bool, told []machine.Told) []machine.Told {
	for _, e := range rec.Events {
		if Tells(e) {
			told = append(told, machine.Told{Event: e})
		}
	}
	return told
}
