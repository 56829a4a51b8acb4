package partition

import (
	"fmt"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// A record that the settings allow and the broker refuses poisons the tenure. The
// next one has learnt, and refuses the command (J1, J4).
func TestJ1ARefusedRecordIsNotTriedForEver(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.settings.RecordBytes = 64 << 20
		p := r.partitionOf("big")
		s := r.start("a", p)
		defer s.leave()
		r.do("big", "start", `{"definition":"counter"}`)
		got := r.do("big", "input", `{"input":1}`)
		if got.Refusal == nil || got.Refusal.Code != "too_large" {
			t.Errorf("the reply is %+v", got)
		}
		if at := s.owners[0].Status(); at.Epoch != 2 || s.Stats.Poisoned.Load() != 1 {
			t.Errorf("the owner is %+v after %d poisoned tenures, want epoch 2 after one", at, s.Stats.Poisoned.Load())
		}
	})
}

func TestForeignCommandsReachTheirPartition(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		wrong := (p + 1) % r.n
		s := r.start("a", 0, 1, 2, 3)
		defer s.leave()
		r.sendAs("x", wrong, "w", "start", `{"definition":"counter"}`)
		if got := r.reply("x", 1); got.Result != events.ResultDone {
			t.Errorf("the reply is %+v", got)
		}
		r.sendAs("x", wrong, "w", "start", `{"definition":"counter"}`)
		if got := r.reply("x", 2); got.Result != events.ResultDone {
			t.Errorf("the forwarded repetition got %+v", got)
		}
		if n := r.has(wrong, "InputForwarded"); n != 2 {
			t.Errorf("%d records say forwarded, want 2", n)
		}
		if n := r.has(p, "WorkflowStarted"); n != 1 {
			t.Errorf("%d starts, want 1", n)
		}
	})
}

// A repetition in the wrong partition waits there for longer than the window, as
// nobody owns it. When it is forwarded it is as old as it is: an owner that has decided the
// command knows it, or says that it may have forgotten it.
func TestAForwardedCommandIsAsOldAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		others int // commands that the right partition decides meanwhile: it looks at old entries
		want   string
	}{
		"while its partition rests": {0, ""},
		"while its partition works": {200, "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.settings.Window = time.Minute
				p := r.partitionOf("w")
				wrong := (p + 1) % r.n
				s := r.start("a", p)
				defer s.leave()
				r.sendAs("x", p, "w", "start", `{"definition":"counter"}`)
				r.reply("x", 1)
				r.sendAs("y", p, "w", "input", `{"input":1}`)
				r.reply("y", 1)
				r.sendAs("y", wrong, "w", "input", `{"input":1}`)
				<-time.After(5 * time.Minute)
				for range c.others {
					r.do("w", "pause", `{}`)
				}
				b := r.start("b", wrong)
				defer b.leave()
				code := ""
				if got := r.reply("y", 2); got.Refusal != nil {
					code = got.Refusal.Code
				}
				if n := r.has(p, "InputAccepted"); n != 1 || code != c.want {
					t.Errorf("the command is decided %d times, its repetition is refused as %q, want %q", n, code, c.want)
				}
			})
		})
	}
}

func TestAForwardedCommandSurvivesACrash(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.settings.NeverRunsTwice = true
		p := r.partitionOf("w")
		wrong := (p + 1) % r.n
		a := r.start("a", wrong)
		r.sendAs("x", wrong, "w", "start", `{"definition":"counter"}`)
		for r.has(wrong, "InputForwarded") == 0 {
			<-time.After(time.Millisecond)
		}
		a.kill() // whether the forwarded record is out is not known
		r.forget(fmt.Sprintf("a-%d", wrong))
		b := r.start("a", 0, 1, 2, 3)
		defer b.leave()
		if got := r.reply("x", 1); got.Result != events.ResultDone {
			t.Errorf("the reply is %+v", got)
		}
		if n := r.has(p, "WorkflowStarted"); n != 1 {
			t.Errorf("%d starts, want 1", n)
		}
	})
}
