package storetest_test

import (
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
	"github.com/heddle-run/heddle/sdk/storetest"
)

// The test of an adapter that keeps nothing behind its end. All others give Interrupt too.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestConformance(t *testing.T)
		storetest.Run(t, func(testing.TB) storetest.Place {
			return storetest.Place{Open: func(testing.TB) store.Opened { return memory.New() }, Volatile: true}
		})
	}
}
