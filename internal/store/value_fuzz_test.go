package store

import (
	"testing"

	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// What a store keeps for itself has one form or is refused; malformed dirty keys
// are noticed.
func FuzzOwnRows(f *testing.F) {
	f.Add([]byte{})
	f.Add(wire.Marshal(&Metadata{Cluster: "c", Topic: [16]byte{1}, Complete: true, Extra: []byte("x")}))
	all := func() []wire.Message { return []wire.Message{&Metadata{}, &dirtyEntry{}} }
	f.Add([]byte(ops(nil).append(born, 5, "w", rows.Key{Table: rows.Fact, Workflow: "w", A: 300})))
	f.Add([]byte{0, 200, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		wiretest.OneForm(t, b, all)
		checkDirtyKeys(t, b)
	})
}
