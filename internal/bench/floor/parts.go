package floor

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// Every value begins with the slot of the workflow, its round and its step
// within the round; the rest is ballast, so that records are as large as the
// engine's, and compress about as well. Sizes are those that the clients of a
// loaded engine counted for a chain (bytes before compression, without the key
// and what a record costs in its batch; a command's headers are in its value).
const (
	headSize    = 16
	commandSize = 390
	journalSize = 220
	taskSize    = 225
	outcomeSize = 190
	replySize   = 695
	statusSize  = 450
	rowSize     = 350
)

// rowsOf is how many rows a workflow of so many steps leaves in the changelog: its
// header, its set-up, the ledger entry of its command, and a page for each sixteen
// of its facts. The engine writes some of them more than once.
func rowsOf(steps int) int { return 3 + (steps+16)/16 }

// checkpointEvery is how often rows are written.
const checkpointEvery = time.Second

type head struct{ slot, run, round, step uint32 }

func (h head) value(size int) []byte {
	b := make([]byte, size)
	binary.LittleEndian.PutUint32(b, h.slot)
	binary.LittleEndian.PutUint32(b[4:], h.run)
	binary.LittleEndian.PutUint32(b[8:], h.round)
	binary.LittleEndian.PutUint32(b[12:], h.step)
	at := int(h.slot*7919+h.run*104729+h.round*1299709+h.step*15485863) % (len(ballast) - size)
	copy(b[headSize:], ballast[at:])
	return b
}

// ballast is JSON-like text of which about half is noise.
var ballast = func() []byte {
	noise := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for len(b) < 1<<16 {
		b = fmt.Appendf(b, `{"id":"%016x","type":"order.line","quantity":%d,"price":"%d.99","sku":"%012x"},`,
			noise.Uint64(), noise.IntN(100), noise.IntN(1000), noise.Uint64N(1<<48))
	}
	return b
}()

func headOf(b []byte) (h head, ok bool) {
	if len(b) < headSize {
		return h, false
	}
	return head{
		slot: binary.LittleEndian.Uint32(b), run: binary.LittleEndian.Uint32(b[4:]),
		round: binary.LittleEndian.Uint32(b[8:]), step: binary.LittleEndian.Uint32(b[12:]),
	}, true
}

// slot is one workflow at a time: its key, and where its reply is awaited.
type slot struct {
	key  []byte
	done chan uint32 // the run that ended
}

func makeSlots(n int) []slot {
	slots := make([]slot, n)
	for i := range slots {
		slots[i] = slot{key: fmt.Appendf(nil, "bench-%06d", i), done: make(chan uint32, 1)}
	}
	return slots
}

// drive keeps every slot busy with one workflow after the other.
func (f *flow) drive(ctx context.Context, begin, end time.Time) []time.Duration {
	var mu sync.Mutex
	var all []time.Duration
	var clients sync.WaitGroup
	for i := range f.slots {
		clients.Go(func() {
			runs := f.runSlot(ctx, uint32(i), begin, end)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, runs...)
		})
	}
	clients.Wait()
	return all
}

// runSlot starts one workflow after the other and returns how long each took
// that lay within the window.
func (f *flow) runSlot(ctx context.Context, i uint32, begin, end time.Time) (runs []time.Duration) {
	s := f.slots[i]
	for run := uint32(0); ctx.Err() == nil; run++ {
		start := time.Now()
		if start.After(end) {
			return runs
		}
		h := head{slot: i, run: run}
		f.client.produce.Produce(ctx, kafka.Keyed(f.set.Commands(), s.key, h.value(commandSize)), f.sent)
		select {
		case <-ctx.Done():
			return runs
		case <-s.done:
		}
		if now := time.Now(); start.After(begin) && now.Before(end) {
			runs = append(runs, now.Sub(start))
		}
	}
	return runs
}

// loop is the planner of one partition.
type loop struct {
	in   chan []*kgo.Record
	open map[uint32]int // by slot: steps of the round that have not ended

	ended   []head // whose rows are not written
	written time.Time
}

func (f *flow) startLoops(ctx context.Context) {
	for p := range f.set.Partitions() {
		l := &loop{in: make(chan []*kgo.Record, 1024), open: map[uint32]int{}}
		f.loops = append(f.loops, l)
		f.tasks.Go(func() { f.plan(ctx, l, p) })
	}
}

func (f *flow) dispatch(_ string, partition int32, rs []*kgo.Record) {
	f.loops[partition].in <- rs
}

func (f *flow) plan(ctx context.Context, l *loop, partition int32) {
	for {
		select {
		case <-ctx.Done():
			return
		case rs := <-l.in:
			for _, r := range rs {
				if h, ok := headOf(r.Value); ok {
					f.decide(ctx, l, partition, r.Topic == f.set.Inbox(), h)
				}
			}
			f.checkpoint(l, partition)
		}
	}
}

// decide appends the input's record and, once it is acknowledged, releases
// what follows from it: the next round's tasks, the reply, or nothing.
func (f *flow) decide(ctx context.Context, l *loop, partition int32, outcome bool, h head) {
	if outcome {
		l.open[h.slot]--
		if l.open[h.slot] > 0 {
			h.step = 0
			f.append(ctx, partition, h, nil)
			return
		}
		h.round++
	}
	if int(h.round) == f.rounds {
		l.ended = append(l.ended, h)
		f.append(ctx, partition, h, f.answer)
		return
	}
	l.open[h.slot] = f.width
	f.append(ctx, partition, h, f.release)
}

func (f *flow) append(ctx context.Context, partition int32, h head, then func(int32, head)) {
	r := kafka.Placed(f.set.Journal(), partition, f.slots[h.slot].key, h.value(journalSize),
		kafka.Header("epoch", []byte{0, 0, 0, 1}), kafka.Header("seq", []byte{0, 0, 0, 0, 0, 0, 0, 1}))
	f.journal.Produce(ctx, r, func(r *kgo.Record, err error) {
		if err != nil {
			f.sent(r, err)
		} else if then != nil {
			then(partition, h)
		}
	})
}

// release spreads a round's tasks over all partitions of the queue.
func (f *flow) release(home int32, h head) {
	n := f.set.Partitions()
	for step := range f.width {
		h.step = uint32(step)
		to := (home + int32(step)) % n
		r := kafka.Placed(f.set.Tasks(queue), to, f.slots[h.slot].key, h.value(taskSize))
		f.planner.produce.Produce(context.Background(), r, f.sent)
	}
}

func (f *flow) answer(_ int32, h head) {
	r := kafka.Placed(f.set.Replies(), int32(h.slot)%8, f.slots[h.slot].key, h.value(replySize))
	f.planner.produce.Produce(context.Background(), r, f.sent)
	s := kafka.Keyed(f.set.Status(), f.slots[h.slot].key, h.value(statusSize))
	f.summaries.Produce(context.Background(), s, f.sent)
}

// checkpoint writes the rows of the workflows that have ended, when it is time.
func (f *flow) checkpoint(l *loop, partition int32) {
	now := time.Now()
	if now.Sub(l.written) < checkpointEvery {
		return
	}
	l.written = now
	for _, h := range l.ended {
		for i := range rowsOf(f.rounds * f.width) {
			h.step = uint32(i)
			r := kafka.Placed(f.set.State(), partition, f.slots[h.slot].key, h.value(rowSize))
			f.rows.Produce(context.Background(), r, f.sent)
		}
	}
	l.ended = l.ended[:0]
}

// work runs the empty step of each task.
func (f *flow) work(_ string, _ int32, rs []*kgo.Record) {
	for _, r := range rs {
		if h, ok := headOf(r.Value); ok {
			out := kafka.Keyed(f.set.Inbox(), r.Key, h.value(outcomeSize))
			f.worker.produce.Produce(context.Background(), out, f.sent)
		}
	}
}

func (f *flow) reply(_ string, _ int32, rs []*kgo.Record) {
	for _, r := range rs {
		if h, ok := headOf(r.Value); ok {
			f.slots[h.slot].done <- h.run
		}
	}
}

// list is the list view.
func (f *flow) list(_ string, _ int32, rs []*kgo.Record) {
	for _, r := range rs {
		if _, ok := headOf(r.Value); !ok {
			f.fail(fmt.Errorf("floor: a status of %d bytes", len(r.Value)))
		}
	}
}
