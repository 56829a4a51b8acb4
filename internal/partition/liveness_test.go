package partition

import (
	"testing"
)

// What a recovery cannot make again is lost as well, in its first turn.
func TestE3ARecoveryLosesWhatItCannotMakeAgain(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.settings.NeverRunsTwice = true
		p := r.partitionOf("w")
		a := r.start("a", p)
		r.counted("w", 2)
		a.kill()
		r.counter.Unmade = "w"
		b := r.start("a", p)
		defer b.leave()
		b.await(Owning)
		r.do("w", "input", `{"input": 7}`)
		if n := r.has(p, "RunnableLost"); n != 2 {
			t.Errorf("%d attempts are lost, want both", n)
		}
	})
}
