package worker

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

const windowMax = 1 << 16

func TestAWindowIsBoundedInTimeAndNumber(t *testing.T) {
	w := newWindow(time.Minute, windowMax)
	start := time.Unix(0, 0)
	number := func(n int) key { return key{byte(n), byte(n >> 8), byte(n >> 16)} }
	w.add(number(1), start)
	w.add(number(2), start.Add(30*time.Second))
	if !w.has(number(1), start.Add(59*time.Second)) || w.has(number(1), start.Add(time.Minute)) {
		t.Error("a token is not known for a minute")
	}
	if !w.has(number(2), start.Add(time.Minute)) {
		t.Error("a later token was forgotten")
	}
	for n := range windowMax {
		w.add(number(10+n), start.Add(time.Minute))
	}
	if w.count != windowMax || len(w.ring) != windowMax || w.has(number(2), start.Add(time.Minute)) {
		t.Errorf("%d tokens are known, want the newest %d", w.count, windowMax)
	}
}

// A window knows just the tokens that are young enough, also when many of them
// have the same home in its index.
func TestAWindowKnowsWhatItWasTold(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		random := func() (k key) {
			binary.LittleEndian.PutUint32(k[:], r.Uint32N(8)-4) // homes at both ends of the index
			k[15] = byte(r.UintN(64))
			return k
		}
		w := newWindow(time.Minute, windowMax)
		since := map[key]time.Time{}
		now := time.Now()
		for range 3000 {
			now = now.Add(time.Duration(r.IntN(2000)) * time.Millisecond)
			k := random()
			if r.IntN(3) > 0 {
				w.add(k, now)
				if at, ok := since[k]; !ok || now.Sub(at) >= time.Minute {
					since[k] = now
				}
			}
			k = random()
			at, ok := since[k]
			if want := ok && now.Sub(at) < time.Minute; w.has(k, now) != want {
				t.Fatalf("seed %d: known is %v, want %v", seed, !want, want)
			}
		}
	}
}

// BenchmarkWindow is remembering a token in a full window.
func BenchmarkWindow(b *testing.B) {
	w := newWindow(time.Hour, windowMax)
	n := uint64(0)
	add := func() {
		n += 0x9e3779b97f4a7c15 // tokens are random
		var k key
		binary.LittleEndian.PutUint64(k[:], n^n>>29)
		w.add(k, time.Now())
	}
	for range windowMax {
		add()
	}
	b.ReportAllocs()
	for b.Loop() {
		add()
	}
}
