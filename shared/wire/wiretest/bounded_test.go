package wiretest_test

import (
	"testing"

	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// told takes the place of a test that may fail.
type told struct {
	testing.TB
	failed bool
}

func (t *told) Helper()               {}
func (t *told) Errorf(string, ...any) { t.failed = true }

var kept []byte

func TestWhatAllocatesTooMuchIsNoticed(t *testing.T) {
	for _, c := range []struct {
		size, takes int
		wrong       bool
	}{{1 << 10, 1 << 10, false}, {1 << 20, 3 << 20, false}, {1 << 10, 3 << 20, true}, {1 << 20, 30 << 20, true}} {
		tb := &told{TB: t}
		wiretest.Bounded(tb, c.size, 8, 0, func() {
			for range 4 {
				kept = make([]byte, c.takes/4)
			}
		})
		if tb.failed != c.wrong {
			t.Errorf("%d bytes that take %d: it fails is %v", c.size, c.takes, tb.failed)
		}
	}
}
