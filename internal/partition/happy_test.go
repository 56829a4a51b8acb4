package partition

import "testing"

func TestCommandsBecomeRecordsAndEffects(t *testing.T) {
	inBubble(t, func(r *rig) {
		s := r.start("a", r.partitionOf("w"))
		defer s.leave()
		r.adder()
		if got := r.do("w", "start", `{"definition":"counter"}`); got.Result != "done" {
			t.Fatalf("start: %+v", got)
		}
		for range 10 {
			r.do("w", "input", `{"input": 7}`)
		}
		if sum := r.settled("w"); sum != 70 {
			t.Errorf("sum is %d, want 70", sum)
		}
	})
}
