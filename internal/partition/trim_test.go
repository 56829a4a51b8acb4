package partition

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

func (r *rig) begin(topic string, p int32) int64 {
	r.t.Helper()
	starts, err := kadm.NewClient(r.cluster.Admin(r.t)).ListStartOffsets(context.Background(), topic)
	r.must(err)
	start, _ := starts.Lookup(topic, p)
	return start.Offset
}

// trimmed lets the owner of a partition trim soon, and keep little.
func trimmed(r *rig) {
	r.settings.Window, r.settings.History, r.settings.TrimEvery = 10*time.Minute, time.Minute, time.Minute
}

// What is decided, in a checkpoint and older than two windows goes, but for the
// record before the place of reading; the journal goes as far as its history.
func TestTheOwnerDeletesWhatNobodyNeeds(t *testing.T) {
	inBubble(t, func(r *rig) {
		trimmed(r)
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 3)
		sum := r.settled("w")
		commands, journal := r.end(r.names.Commands(), p), r.end(r.names.Journal(), p)
		<-time.After(5 * time.Minute)
		if at := r.begin(r.names.Commands(), p); at != 0 {
			t.Errorf("commands begin at %d within the window", at)
		}
		if at := r.begin(r.names.Journal(), p); at == 0 || at >= journal {
			t.Errorf("the journal of %d records begins at %d: what is older than its history is there, or nothing is left", journal, at)
		}
		<-time.After(30 * time.Minute)
		if at := r.begin(r.names.Commands(), p); at != commands-1 {
			t.Errorf("commands begin at %d two windows later, want %d", at, commands-1)
		}
		a.kill()
		r.forgetIn("a", p)
		b := r.start("b", p)
		defer b.leave()
		b.await(Owning)
		if r.has(p, "InputLost") != 0 {
			t.Error("trimming has lost inputs")
		}
		r.do("w", "input", `{"input": 7}`)
		if got := r.settled("w"); got != sum+7 {
			t.Errorf("sum is %d, want %d", got, sum+7)
		}
	})
}

// A planner that has been away for long finds its inputs.
func TestNothingIsDeletedWhileNobodyOwns(t *testing.T) {
	inBubble(t, func(r *rig) {
		trimmed(r)
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 1)
		r.settled("w")
		a.leave()
		id := r.send("w", "input", `{"input": 7}`)
		<-time.After(2 * time.Hour)
		b := r.start("a", p)
		defer b.leave()
		if r.reply(id, 1).Refusal != nil || r.settled("w") != 14 {
			t.Errorf("sum is %d, want 14", r.settled("w"))
		}
	})
}
