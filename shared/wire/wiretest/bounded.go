package wiretest

import (
	"runtime/metrics"
	"testing"
)

// Bounded holds that do, which reads an input of size bytes, allocates at most per
// bytes for each of them, and plus bytes besides. What is allocated bounds the time
// too, as far as reading makes something, and unlike a clock it says the same on a
// busy machine. Nothing else may run in the process; small allocations are counted
// by whole spans, so plus is no less than a megabyte.
func Bounded(t testing.TB, size int, per, plus uint64, do func()) {
	t.Helper()
	before := allocated()
	do()
	if got, most := allocated()-before, per*uint64(size)+max(plus, 1<<20); got > most {
		t.Errorf("%d bytes of input take %d bytes of memory, at most are allowed %d", size, got, most)
	}
}

// allocated is how many bytes of the heap the process has ever allocated.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
