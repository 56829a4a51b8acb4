package memory_test

import (
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
