package store

import (
	"bytes"
	"testing"

	"github.com/heddle-run/heddle/shared/wire"
)

// What a store keeps for itself has one form or is refused.
func FuzzOwnRows(f *testing.F) {
	f.Add([]byte{})
	f.Add(wire.Marshal(&Marks{Cluster: "c", Topic: [16]byte{1}, Complete: true, Extra: []byte("x")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		again := []wire.Message{&Marks{}, &dirtyEntry{}}
		for i, m := range []wire.Message{&Marks{}, &dirtyEntry{}} {
			if wire.Unmarshal(b, m) != nil {
				continue
			}
			own := wire.Marshal(m)
			if err := wire.Unmarshal(own, again[i]); err != nil || !bytes.Equal(wire.Marshal(again[i]), own) {
				t.Errorf("%x is the %T %+v, then %+v, %v", b, m, m, again[i], err)
			}
		}
	})
}
