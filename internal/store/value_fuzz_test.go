package store

import (
	"testing"

	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// What a store keeps for itself has one form or is refused.
func FuzzOwnRows(f *testing.F) {
	f.Add([]byte{})
	f.Add(wire.Marshal(&Marks{Cluster: "c", Topic: [16]byte{1}, Complete: true, Extra: []byte("x")}))
	all := func() []wire.Message { return []wire.Message{&Marks{}, &dirtyEntry{}} }
	f.Fuzz(func(t *testing.T, b []byte) { wiretest.OneForm(t, b, all) })
}
