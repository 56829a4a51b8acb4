package store

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// payload is a row of a usual size.
type payload struct {
	a, b, c uint64
	value   []byte
}

func (p *payload) Fields(c *wire.Codec) {
	wire.Int(c, 1, "a", &p.a)
	wire.Int(c, 2, "b", &p.b)
	wire.Int(c, 3, "c", &p.c)
	c.Bytes(4, "value", &p.value)
}

type payloadMaker struct{}

func (payloadMaker) Make() rows.Row { return &payload{} }

var newPayload payloadMaker

var value = []byte(`{"order":"o-1234567","total":12.5}`)

func row(n uint64) rows.Row { return &payload{a: n, b: 7, value: value} }

// step are the writes of one step of a workflow as the planner makes them:
// header, a fact, the runnable that ended and the next one, rows beside them.
func step(w string, n uint64) []rows.Write {
	return []rows.Write{
		{Key: rows.Key{Table: rows.Header, Workflow: w}, Row: row(n)},
		{Key: rows.Key{Table: rows.Fact, Workflow: w, A: n + 1}, Row: row(n), Created: true},
		{Key: rows.Key{Table: rows.Runnable, Workflow: w, A: n}},
		{Key: rows.Key{Table: rows.Latest, Workflow: w, A: n}},
		{Key: rows.Key{Table: rows.Runnable, Workflow: w, A: n + 1}, Row: row(n), Created: true},
		{Key: rows.Key{Table: rows.Latest, Workflow: w, A: n + 1}, Row: row(n), Created: true},
		{Key: rows.Key{Table: rows.Position, A: 2}, Row: row(n)},
	}
}

func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("order-2026-%08d", i)
	}
	return list
}

func openBench(b testing.TB) *Store {
	b.Helper()
	shared := NewShared(64 << 20)
	b.Cleanup(shared.Close)
	s, err := Open(Options{Dir: b.TempDir(), FS: vfs.Default, Shared: shared})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	s.Live(true)
	return s
}

// BenchmarkSteps is the whole hot path of the state: per step six reads, a look
// at the admission queue, seven writes, and its part of a batch and a checkpoint.
func BenchmarkSteps(b *testing.B) {
	for _, batch := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s := openBench(b)
			c := NewCache(s, 64<<20)
			list := names(max(b.N/10, 1)) // chains of ten
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				w, n := list[i/10%len(list)], uint64(i%10)
				reads(c, w, n)
				c.Apply(step(w, n), uint64(i))
				if (i+1)%batch == 0 {
					commit(b, s, c, uint64(i))
				}
				if (i+1)%20_000 == 0 {
					checkpoint(b, s)
				}
			}
		})
	}
}

func reads(c *Cache, w string, n uint64) {
	c.Get(rows.Key{Table: rows.Header, Workflow: w}, newPayload)
	c.Get(rows.Key{Table: rows.Runnable, Workflow: w, A: n}, newPayload)
	c.Get(rows.Key{Table: rows.Latest, Workflow: w, A: n}, newPayload)
	c.Get(rows.Key{Table: rows.Fact, Workflow: w, A: n}, newPayload)
	c.Get(rows.Key{Table: rows.Join, Workflow: w, A: 1, B: 2}, newPayload)
	c.Get(rows.Key{Table: rows.Position, A: 2}, newPayload)
	c.Scan(rows.Key{Table: rows.Ready, Workflow: w}, newPayload, func(rows.Key, rows.Row) bool { return false })
}

func commit(b *testing.B, s *Store, c *Cache, n uint64) {
	b.Helper()
	if err := s.Commit(mark(n+1), c.Unwritten(n)); err != nil {
		b.Fatal(err)
	}
	c.Written(n)
}

func checkpoint(b *testing.B, s *Store) {
	b.Helper()
	sn := s.Due(func(string, Dirty) bool { return true })
	if err := each(sn, func(string, []byte, []byte) error { return nil }); err != nil {
		b.Fatal(err)
	}
	if err := end(sn, true); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkGetInMemory(b *testing.B) {
	s := openBench(b)
	c := NewCache(s, 64<<20)
	for n := range uint64(30) {
		c.Apply(step("order-2026-1", n), n)
	}
	k := rows.Key{Table: rows.Fact, Workflow: "order-2026-1", A: 17}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if c.Get(k, newPayload) == nil {
			b.Fatal("not there")
		}
	}
}

func BenchmarkGetFromStore(b *testing.B) {
	s := openBench(b)
	list := names(20_000)
	fill(b, s, list)
	if err := s.db.Flush(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		var p payload
		if ok, err := s.Get(rows.Key{Table: rows.Header, Workflow: list[i*7919%len(list)]}, &p); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkFirstOfReady(b *testing.B) {
	for _, rowsInTable := range []uint64{1, 100_000} {
		b.Run(fmt.Sprintf("rows=%d", rowsInTable), func(b *testing.B) {
			s := openBench(b)
			c := NewCache(s, 16<<20)
			c.Get(rows.Key{Table: rows.Header, Workflow: "w"}, newPayload)
			for n := range rowsInTable {
				c.Apply([]rows.Write{{Key: rows.Key{Table: rows.Ready, Workflow: "w", B: n}, Row: row(n)}}, n)
			}
			commit(b, s, c, rowsInTable-1)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				c.Scan(rows.Key{Table: rows.Ready, Workflow: "w"}, newPayload, func(rows.Key, rows.Row) bool { return false })
			}
		})
	}
}

func BenchmarkApplyAndCommit(b *testing.B) {
	s := openBench(b)
	c := NewCache(s, 64<<20)
	list := names(1000)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		c.Apply(step(list[i%len(list)], uint64(i/len(list))), uint64(i))
		if (i+1)%64 == 0 {
			commit(b, s, c, uint64(i))
		}
	}
}

// fill writes an idle workflow of some rows for each name.
func fill(b testing.TB, s *Store, list []string) {
	b.Helper()
	var changes []Change
	for i, w := range list {
		changes = append(changes, Change{Key: rows.Key{Table: rows.Header, Workflow: w}, Row: row(1), New: true})
		for n := range uint64(5) {
			changes = append(changes, Change{Key: rows.Key{Table: rows.Fact, Workflow: w, A: n}, Row: row(n), New: true})
		}
		if len(changes) > 1000 || i == len(list)-1 {
			if err := s.Commit(mark(uint64(i+1)), changes); err != nil {
				b.Fatal(err)
			}
			changes = changes[:0]
		}
	}
}

// BenchmarkIdleWorkflow measures what a workflow costs that nothing happens to:
// bytes on disk, and bytes of memory, in a store of 100,000 of them whose cache
// is bounded.
func BenchmarkIdleWorkflow(b *testing.B) {
	const n = 100_000
	for range b.N {
		before := heap()
		s, err := Open(Options{Dir: b.TempDir(), FS: vfs.Default})
		if err != nil {
			b.Fatal(err)
		}
		s.Live(true)
		c := NewCache(s, 8<<20)
		for i, w := range names(n) {
			for k := range uint64(5) {
				c.Apply(step(w, k), uint64(i))
			}
			if (i+1)%100 == 0 {
				commit(b, s, c, uint64(i))
			}
		}
		checkpoint(b, s)
		after := heap()
		b.ReportMetric(float64(after-before)/n, "heapB/workflow")
		b.ReportMetric(float64(c.Stats().Bytes)/n, "cachedB/workflow")
		if err := s.db.Flush(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(s.DiskBytes())/n, "diskB/workflow")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		runtime.KeepAlive(c)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
