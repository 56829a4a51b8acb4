package memory_test

import (
	"runtime"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
	"github.com/heddle-run/heddle/sdk/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(testing.TB) storetest.Place {
		return storetest.Place{Open: func(testing.TB) store.Opened { return memory.New() }, Volatile: true}
	})
}

// A list has the labels of snapshots, and does not copy their data for it.
func TestAListCopiesNoSnapshots(t *testing.T) {
	s := memory.New()
	defer s.Close()
	const size = 8 << 20
	if err := s.SaveSnapshot(t.Context(), "w", 1, store.Snapshot{Labels: map[string]string{"a": "b"}, Data: make([]byte, size)}); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := s.List(t.Context(), store.Filter{}, "")
	runtime.ReadMemStats(&after)
	if err != nil || len(p.Items) != 1 || p.Items[0].Labels["a"] != "b" {
		t.Fatalf("%+v, %v", p, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took >= size {
		t.Errorf("it took %d bytes", took)
	}
}
