package policy_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/policy"
)

func TestBackoffs(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		backoff policy.Backoff
		want    []time.Duration // after failed attempts 1, 2, …
	}{
		{policy.None, []time.Duration{0, 0, 0}},
		{policy.Linear, []time.Duration{2 * s, 4 * s, 6 * s, 8 * s, 10 * s, 10 * s}},
		{policy.Exponential, []time.Duration{2 * s, 4 * s, 8 * s, 10 * s, 10 * s}},
	} {
		p := policy.Default()
		p.Backoff, p.BaseDelay, p.MaxDelay = c.backoff, 2*s, 10*s
		for i, want := range c.want {
			if got := p.Delay(i+1, 0); got != want {
				t.Errorf("backoff %d after %d failed: %s, want %s", c.backoff, i+1, got, want)
			}
		}
		if far := p.Delay(math.MaxInt, 0); far != c.want[len(c.want)-1] {
			t.Errorf("backoff %d after very many failed: %s", c.backoff, far)
		}
	}
}

func TestABaseAboveTheMaximumWaitsTheMaximum(t *testing.T) {
	for _, b := range []policy.Backoff{policy.Linear, policy.Exponential} {
		p := policy.Policy{Backoff: b, BaseDelay: time.Hour, MaxDelay: time.Second}
		if got := p.Delay(1, 0); got != time.Second {
			t.Errorf("backoff %d: %s", b, got)
		}
	}
}

func TestJitterIsUniformAndDependsOnTheSeedOnly(t *testing.T) { // G14
	p := policy.Policy{Backoff: policy.Jitter, BaseDelay: 10 * time.Millisecond, MaxDelay: 35 * time.Millisecond}
	for failed, limit := range map[int]time.Duration{1: 10 * time.Millisecond, 2: 20 * time.Millisecond, 3: 35 * time.Millisecond, 9: 35 * time.Millisecond} {
		const draws = 20_000
		var seen []time.Duration
		total := time.Duration(0)
		for seed := range uint64(draws) {
			d := p.Delay(failed, seed)
			if d < time.Millisecond || d > limit {
				t.Fatalf("after %d failed, seed %d: %s is outside 1ms…%s", failed, seed, d, limit)
			}
			if d != p.Delay(failed, seed) {
				t.Fatalf("after %d failed, seed %d: two waits", failed, seed)
			}
			total += d
			seen = append(seen, d)
		}
		if slices.Min(seen) != time.Millisecond || slices.Max(seen) != limit {
			t.Errorf("after %d failed: waits from %s to %s", failed, slices.Min(seen), slices.Max(seen))
		}
		mean, want := total/draws, (limit+time.Millisecond)/2
		if diff := (mean - want).Abs(); diff > limit/20 {
			t.Errorf("after %d failed: mean %s, want about %s", failed, mean, want)
		}
	}
	tiny := policy.Policy{Backoff: policy.Jitter, BaseDelay: 0, MaxDelay: time.Second}
	if d := tiny.Delay(3, 1); d != time.Millisecond {
		t.Errorf("without a base: %s", d)
	}
}

func TestAHandedBackTaskWaitsLongerEachTime(t *testing.T) {
	last := time.Duration(0)
	for n := 1; n <= 6; n++ {
		if d := policy.UnknownTaskDelay(n); d <= last {
			t.Errorf("handed back %d times: %s after %s", n, d, last)
		} else {
			last = d
		}
	}
	if d := policy.UnknownTaskDelay(1_000_000); d != 10*time.Second {
		t.Errorf("at last %s", d)
	}
}
