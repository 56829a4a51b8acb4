package view

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
)

// BenchmarkTake follows workflows that are new: each is told of when it runs
// and when it is idle, with others between. One operation is one record.
func BenchmarkTake(b *testing.B) {
	for _, poll := range []int{512, 1250} { // at 5,000 a second: 100 and 250 ms
		b.Run(fmt.Sprint(poll), func(b *testing.B) { benchmarkTake(b, poll) })
	}
}

const (
	benchOpen   = 512    // workflows that run at a time
	benchStored = 50_000 // workflows of before
	benchChunk  = 16     // polls that are made at a time
)

func benchmarkTake(b *testing.B, poll int) {
	v := openTestView(b, b.TempDir())
	flow := statusFlow{ids: rand.New(rand.NewPCG(1, 2))}
	for range 2 * benchStored / poll {
		takeAll(b, v, flow.poll(poll))
	}
	if err := v.db.Flush(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	var spent time.Duration
	for left := b.N; left > 0; {
		b.StopTimer()
		var polls [][]*kgo.Record
		for len(polls) < benchChunk && left > 0 {
			polls = append(polls, flow.poll(min(poll, left)))
			left -= len(polls[len(polls)-1])
		}
		b.StartTimer()
		before := cpu(b)
		for _, records := range polls {
			takeAll(b, v, records)
		}
		spent += cpu(b) - before
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "cpu-ns/op") // with what Pebble does behind
	if err := v.db.Close(); err != nil {
		b.Fatal(err)
	}
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// statusFlow makes status records as a planner does.
type statusFlow struct {
	ids  *rand.Rand
	open []events.Summary
	seq  uint64
}

func (f *statusFlow) poll(n int) []*kgo.Record {
	list := make([]*kgo.Record, n)
	for i := range list {
		s := f.next()
		f.seq++
		s.Position = events.Position{Epoch: 3, Seq: 1_000_000 + f.seq}
		value, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		list[i] = &kgo.Record{Key: []byte(s.ID), Value: value, Offset: int64(f.seq)}
	}
	return list
}

func (f *statusFlow) next() events.Summary {
	if len(f.open) == benchOpen && f.seq%2 == 1 {
		i := f.ids.IntN(len(f.open))
		s := f.open[i]
		f.open[i] = f.open[len(f.open)-1]
		f.open = f.open[:len(f.open)-1]
		s.Status, s.Counts = "idle", events.Counts{Completed: 10}
		return s
	}
	at := events.Stamp(1_770_000_000_000 + int64(f.seq)/5)
	s := events.Summary{
		ID: fmt.Sprintf("bench-%016x", f.ids.Uint64()), Run: events.Position{Epoch: 3, Seq: 1_000_000 + f.seq},
		Status:     "running",
		Definition: events.DefinitionRef{Name: "chain10", Version: "1", Digest: fmt.Sprintf("sha256:%064d", 7)},
		Partition:  int32(f.seq % 32), Created: at, Updated: at, Counts: events.Counts{Active: 1},
	}
	f.open = append(f.open, s)
	return s
}
