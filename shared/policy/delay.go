package policy

import (
	"math/bits"
	"time"
)

// Delay is the wait before the attempt that follows the failed-th failed one (failed ≥ 1). Jitter depends on seed and
// failed only, so that the same journal gives the same times.
func (p Policy) Delay(failed int, seed uint64) time.Duration {
	if failed < 1 {
		return 0
	}
	switch p.Backoff {
	case None:
		return 0
	case Linear:
		return p.linear(failed)
	case Exponential:
		return p.exponential(failed)
	case Jitter:
		return uniform(p.exponential(failed), mix(seed+uint64(failed)))
	}
	panic("policy: unknown backoff")
}

func (p Policy) linear(failed int) time.Duration {
	hi, lo := bits.Mul64(uint64(p.BaseDelay), uint64(failed))
	if hi != 0 || lo > uint64(p.MaxDelay) {
		return p.MaxDelay
	}
	return time.Duration(lo)
}

func (p Policy) exponential(failed int) time.Duration {
	d := p.BaseDelay
	for range failed - 1 {
		if d == 0 || d >= p.MaxDelay {
			break
		}
		d *= 2
	}
	return min(d, p.MaxDelay)
}

// uniform spreads a random word over 1ms…limit, in whole milliseconds.
func uniform(limit time.Duration, word uint64) time.Duration {
	ms := uint64(max(limit/time.Millisecond, 1))
	pick, _ := bits.Mul64(word, ms)
	return time.Duration(pick+1) * time.Millisecond
}

// mix is the finalizer of SplitMix64: neighbouring seeds give unrelated words.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// Waits of an attempt that was handed back because its worker does not know the task.
const (
	unknownTaskFirst = 250 * time.Millisecond
	unknownTaskMost  = 10 * time.Second
)

// UnknownTaskDelay is the wait before an attempt is offered again that was handed back handedBack times (≥ 1) by workers
// that do not know its task: doubling from 250 ms to 10 s. The total is limited by Policy.StartTimeout, not here.
func UnknownTaskDelay(handedBack int) time.Duration {
	d := unknownTaskFirst
	for i := 1; i < handedBack && d < unknownTaskMost; i++ {
		d *= 2
	}
	return min(d, unknownTaskMost)
}
