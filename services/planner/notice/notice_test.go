package notice_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/services/planner/notice"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

const echo = `{"definition":{"name":"d","components":{"a":{"expr":"input + 1"}},"options":{"on_complete":{"url":"https://r.example/done","args":{"k":1}}}}%s}`

func (w *world) start(id string) { w.command(id, "start", fmt.Sprintf(echo, `,"input":1`)) }

// Whatever comes late, twice, or in another order, and whatever becomes of calls and executors:
// each drain has its notice, each receiver has them in order, and nothing is left behind.
func TestEachDrainHasItsNotice(t *testing.T) {
	for seed := range uint64(300) {
		w := newWorld(t, seed)
		w.ends = func() *events.TaskOutcome {
			switch w.rnd.IntN(8) {
			case 0:
				return nil
			case 1:
				return &events.TaskOutcome{Outcome: events.OutcomeTimedOut}
			case 2:
				return &events.TaskOutcome{Outcome: events.OutcomeFailed, Error: &events.TaskError{Type: "http_status", Message: "503", RetryAfterMs: 4000}}
			case 3:
				return &events.TaskOutcome{Outcome: events.OutcomeAbandoned}
			case 4:
				return &events.TaskOutcome{Outcome: events.OutcomeFailed}
			}
			return &events.TaskOutcome{Outcome: events.OutcomeCompleted}
		}
		live := []string{"w0", "w1", "w:2"}
		for _, id := range live {
			w.start(id)
		}
		for range 60 {
			switch w.rnd.IntN(8) {
			case 0:
				w.command(live[w.rnd.IntN(len(live))], "input", `{"input":1}`)
			case 1:
				id := live[w.rnd.IntN(len(live))]
				w.command(id, "delete", `{"force":true}`)
				w.start(id)
			case 2:
				w.fold()
			case 3:
				if seed%2 == 0 && w.rnd.IntN(3) == 0 && w.fire() { // time passes while messages are on their way
					w.hasty++
				}
			case 4:
				if len(w.calls) > 0 {
					w.answer(w.rnd.IntN(len(w.calls)))
				}
			default:
				if len(w.messages) > 0 {
					i := w.rnd.IntN(len(w.messages))
					w.bring(w.messages[i], false)
					if w.rnd.IntN(3) > 0 { // else it comes again
						w.messages = slices.Delete(w.messages, i, i+1)
					}
				}
			}
		}
		w.settle()
		w.fold()
		w.check(seed)
		if t.Failed() {
			return
		}
	}
}

// check holds what the receiver has had against what was decided.
func (w *world) check(seed uint64) {
	w.t.Helper()
	got, want := slices.Sorted(slices.Values(w.took)), slices.Sorted(slices.Values(w.drains))
	if !slices.Equal(got, want) {
		w.t.Errorf("seed %d: the receiver had\n%q, the drains were\n%q", seed, got, want)
	}
	last := map[string]int{}
	for _, id := range w.took {
		run, text, _ := strings.Cut(id, "/drain-")
		var n int
		if _, err := fmt.Sscan(text, &n); err != nil || n != last[run]+1 && w.hasty == 0 {
			w.t.Errorf("seed %d: of run %s drain %d came behind %d", seed, run, n, last[run])
		}
		last[run] = n
	}
	if left := w.left(); len(left) > 0 {
		w.t.Errorf("seed %d: rows are left: %q", seed, left)
	}
}

// A receiver that fails is called again, ever more seldom, for a day; its workflow shows that,
// and is what it was.
func TestAReceiverThatFailsIsGivenUp(t *testing.T) {
	w := newWorld(t, 1)
	w.ends = func() *events.TaskOutcome {
		return &events.TaskOutcome{Outcome: events.OutcomeFailed, Error: &events.TaskError{Type: "http_status", Message: "500 from the receiver"}}
	}
	w.start("w")
	began := w.now
	for len(w.messages) > 0 {
		w.deliver(0)
	}
	w.answer(0)
	for len(w.messages) > 0 {
		w.deliver(0)
	}
	if n := w.summary("w").Notice; n == nil || n.State != "failing" || n.Attempts != 1 || n.Drain != 1 || n.Error.Type != "http_status" {
		t.Errorf("after one call the workflow shows %+v", n)
	}
	w.settle()
	n := w.summary("w").Notice
	if n == nil || n.State != "given_up" || n.Attempts < 90 || n.Attempts > 120 {
		t.Errorf("in the end the workflow shows %+v", n)
	}
	if took := time.Duration(w.now-began) * time.Millisecond; took < notice.GiveUpAfter || took > notice.GiveUpAfter+time.Hour {
		t.Errorf("it was given up after %s", took)
	}
	if s := w.summary("w").Status; s != "idle" || len(w.left()) > 0 {
		t.Errorf("the workflow is %s, and this is left: %q", s, w.left())
	}
	w.ends = func() *events.TaskOutcome { return &events.TaskOutcome{Outcome: events.OutcomeCompleted} }
	w.command("w", "input", `{"input":1}`)
	w.settle()
	if n := w.summary("w").Notice; n != nil {
		t.Errorf("the next notice was delivered, and the workflow shows %+v", n)
	}
	last := len(w.heard) - 1
	for i, told := range w.heard {
		want := machine.Told{Notice: machine.NoticeRetried, Runnable: 1, Attempt: uint32(i + 1), Since: began}
		switch i {
		case last - 1:
			want.Notice = machine.NoticeGivenUp
		case last:
			want = machine.Told{Notice: machine.NoticeDelivered, Runnable: 2, Attempt: 1, Since: told.Since}
		}
		if told.Notice != want.Notice || told.Runnable != want.Runnable || told.Attempt != want.Attempt || told.Since != want.Since || told.Run.Seq == 0 {
			t.Errorf("telemetry is told of call %d: %+v, want %+v", i+1, told, want)
		}
	}
	if last != int(n.Attempts) {
		t.Errorf("telemetry is told of %d calls, of %d", last+1, n.Attempts+1)
	}
}

// An answer that no other call would change is the last one.
func TestACallThatCanNotSucceedIsNotRepeated(t *testing.T) {
	w := newWorld(t, 1)
	calls := 0
	w.ends = func() *events.TaskOutcome {
		calls++
		return &events.TaskOutcome{Outcome: events.OutcomeFailed, Error: &events.TaskError{Type: events.ErrorAddressForbidden, Message: "no", NonRetryable: true}}
	}
	w.start("w")
	w.settle()
	if n := w.summary("w").Notice; calls != 1 || n == nil || n.State != "given_up" || n.Attempts != 1 {
		t.Errorf("%d calls, and the workflow shows %+v", calls, n)
	}
}

// A notice that overtakes the one before it waits for that.
func TestANoticeWaitsForTheOneBeforeIt(t *testing.T) {
	w := newWorld(t, 1)
	w.start("w")
	w.command("w", "input", `{"input":1}`)
	w.deliver(1)
	if len(w.calls) > 0 {
		t.Error("the second is delivered before the first has come")
	}
	w.deliver(0)
	w.settle()
	w.check(1)
}

// One that never comes holds the others up for a minute only.
func TestANoticeThatNeverComesIsPassedOver(t *testing.T) {
	w := newWorld(t, 1)
	w.start("w")
	w.command("w", "input", `{"input":1}`)
	w.messages = w.messages[1:]
	began := w.now
	w.deliver(0)
	for fired := true; fired && len(w.calls) == 0; {
		fired = w.fire()
	}
	if len(w.calls) != 1 || w.now-began != time.Minute.Milliseconds() {
		t.Errorf("%d calls after %d ms", len(w.calls), w.now-began)
	}
}

// A notice that fits no record comes without results.
func TestANoticeThatFitsNoRecordIsCut(t *testing.T) {
	w := newWorld(t, 1)
	w.start("w")
	m := w.messages[0]
	in := w.inputOf(m)
	in.Limit = 1000
	w.decide(in)
	if len(w.calls) != 1 || !strings.Contains(string(w.calls[0].task.Input), `"results":null`) {
		t.Errorf("the calls are %+v", w.calls)
	}
}
