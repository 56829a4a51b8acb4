package loop

import (
	"slices"
	"testing"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// follower is a counter that promises the end of every start.
type follower struct{ looptest.Counter }

func (f *follower) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := f.Counter.Decide(tx, at, now, in)
	_, out.Answer.Followed = out.Events[0].(*events.WorkflowStarted)
	return out
}

func TestWhoWaitsForTheEndAloneIsToldADecisionThatNoEndFollows(t *testing.T) {
	for wait, want := range map[string][]string{
		"":                 {"start done", "input done", "pause refused", "start done"},
		events.WaitDrained: {"start done", "input done", "pause refused", "start done"},
		events.WaitEnd:     {"input done", "pause refused", "start done"}, // the last is a repetition
	} {
		m := newModel(t, Settings{})
		m.p.Machine = &follower{looptest.Counter{Key: looptest.Secret}}
		for _, c := range [][3]string{
			{"a", "start", `{"definition":"d"}`}, {"b", "input", `{"input":1}`}, {"c", "pause", `{}`}, {"a", "start", `{"definition":"d"}`},
		} {
			m.input(events.FromCommands, "w", c[2], kafka.Header(events.HeaderID, []byte(c[0])),
				kafka.Header(events.HeaderType, []byte(events.CommandType(c[1]))),
				kafka.Header(events.HeaderReplyTo, []byte("tester")), kafka.Header(events.HeaderReplyWait, []byte(wait)))
		}
		m.mustStep()
		m.ack()
		var got []string
		for i := range m.of(machine.ReplyEffect) {
			r := m.reply(i)
			got = append(got, r.Command+" "+r.Result)
		}
		if !slices.Equal(got, want) {
			t.Errorf("waiting for %q: told %q, want %q", wait, got, want)
		}
	}
}
