package conformance

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

func commanding() []one[*trial] {
	return []one[*trial]{
		{"M01", "attempts run, and their results are told, in order and without a gap", m01},
		{"M02", "a client that comes back says what commands it had, and passes those that come again", m02},
		{"M06", "commands are acknowledged every 5 min, and only if there were some", m06},
		{"M09", "a stop of an attempt that is not known is passed", m09},
		{"M10", "a stop ends an attempt, which has then failed", m10},
		{"R05", "an exception of a task is a failure of its attempt", r05},
		{"R06", "an error has its type, message, details, and whether another attempt may succeed", r06},
		{"R07", "a task that is not known is a failure of its attempt", r07},
	}
}

// same reports whether two JSON texts say the same.
func same(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func m01(t *trial) {
	p := t.begin()
	for i, input := range []string{`{"a":[1,2.5,"ü\n"],"b":null,"type":"x"}`, `null`, `"text"`, `[]`, `-12`} {
		token := fmt.Sprint("t", i)
		p.run(int64(i), int64(2*i), token, "echo", input)
		end := p.state(int64(2*i+1), token, frames.StateStopped)
		t.check(end.OK && same(end.Result, []byte(input)), "the result of %s is %s", input, end.Result)
	}
}

func m02(t *trial) {
	p := t.begin()
	all := make([]frames.Command, 8)
	for i := range all {
		all[i] = command(int64(i), fmt.Sprint("t", i), "echo", "1")
	}
	p.commands(all[:5]...)
	p.events(10)
	p.drop()
	p, init := t.accept(runnerID, 9)
	t.check(init.LastCommandIdx != nil && *init.LastCommandIdx == 4, "lastCommandIdx is %v, want 4", init.LastCommandIdx)
	p.commands(all...)
	began := map[string]bool{}
	for _, e := range p.events(6) {
		if s, ok := e.Inner.(*frames.TaskState); ok && s.State == frames.StateRunning {
			began[s.Token] = true
		}
	}
	t.check(len(began) == 3 && began["t5"] && began["t6"] && began["t7"], "of commands 0 to 7, of which 0 to 4 were received, began %v", began)
}

func m06(t *trial) {
	p := t.begin()
	every := t.scaled(5 * time.Minute)
	p.silent(every + every/10)
	p.commands(command(0, "a", "echo", "1"), command(1, "b", "echo", "1"))
	seen := 0
	for began := time.Now(); ; {
		switch f := p.frame(every + slack).(type) {
		case *frames.ToServerEvents:
			seen += len(f.Events)
		case *frames.ToServerAckCommands:
			t.check(f.LastCommandIdx == 1 && seen == 4, "acknowledged %d after %d events, want 1 after 4", f.LastCommandIdx, seen)
			t.check(time.Since(began) <= every+slack, "acknowledged after %v", time.Since(began))
			return
		default:
			t.fail("got %T", f)
		}
	}
}

func m09(t *trial) {
	p := t.begin()
	p.commands(stop(0, "nobody"))
	p.silent(t.scaled(10 * time.Second))
	p.run(1, 0, "a", "echo", "1")
	p.state(1, "a", frames.StateStopped)
}

func m10(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "sleep", "60000")
	p.run(1, 1, "b", "sleep", "60000")
	p.commands(stop(2, "a"))
	end := p.state(2, "a", frames.StateStopped)
	t.check(!end.OK, "it has ended well")
	p.silent(t.scaled(5 * time.Second)) // the other one goes on
}

func r05(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "crash", "1")
	end := p.state(1, "a", frames.StateStopped)
	t.check(!end.OK && end.Error != nil && end.Error.Message != "" && !end.Error.NonRetryable, "it has ended as %+v, %+v", end, end.Error)
	p.run(1, 2, "b", "echo", "1")
	p.state(3, "b", frames.StateStopped)
}

func r06(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "fail", `{"type":"declined","message":"no ü","retryable":false,"details":{"code":51}}`)
	e := p.state(1, "a", frames.StateStopped).Error
	t.check(e != nil && e.Type == "declined" && e.Message == "no ü" && e.NonRetryable && same(e.Details, []byte(`{"code":51}`)), "the error is %+v", e)
	p.run(1, 2, "b", "fail", `{"type":"busy","message":"later","retryable":true}`)
	e = p.state(3, "b", frames.StateStopped).Error
	t.check(e != nil && e.Type == "busy" && !e.NonRetryable, "the error is %+v", e)
}

func r07(t *trial) {
	p := t.begin()
	p.commands(command(0, "a", "nobody", "1"))
	for index := int64(0); ; index++ { // it may say that the attempt has begun
		e := p.events(1)[0]
		s, ok := e.Inner.(*frames.TaskState)
		t.check(ok && e.Index == index && index < 2, "event %d is %+v", e.Index, e.Inner)
		if s.State == frames.StateStopped {
			t.check(!s.OK && s.Error.Type == "unknown_task", "it has ended as %+v", s.Error)
			return
		}
	}
}
