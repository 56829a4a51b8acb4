package executortest_test

import (
	"testing"

	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/executortest"
)

// The test of an adapter. Your system's place has Interrupt, too, if the adapter can be cut off from it.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestConformance(t *testing.T)
		executortest.Run(t, func(testing.TB) executortest.Place {
			o := &office{works: map[string]*paper{}}
			return executortest.Place{Open: func(testing.TB) executor.Adapter { return &desk{office: o} }, World: o}
		})
	}
}

func ExampleRunTold() {
	_ = func(t *testing.T) {
		executortest.RunTold(t, func(testing.TB) executortest.Place {
			return executortest.Place{Open: func(testing.TB) executor.Adapter { return mail{} }}
		})
	}
}

// mail is an adapter whose works tell of their ends.
type mail struct{ executor.Adapter }
