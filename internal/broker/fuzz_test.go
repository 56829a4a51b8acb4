package broker

import (
	"bytes"
	"testing"
)

// A segment is read up to what is torn, and no length that it claims makes more
// room than it has bytes.
func FuzzReadBatch(f *testing.F) {
	f.Add(make([]byte, batchHeaderSize))
	lies := make([]byte, batchHeaderSize)
	copy(lies[8:], []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(lies)
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := bytes.NewReader(raw)
		var buf []byte
		for left := int64(len(raw)); ; {
			b, err := readBatch(r, buf, left)
			if cap(b) > 2*len(raw)+4*batchHeaderSize {
				t.Fatalf("%d bytes make room for %d", len(raw), cap(b))
			}
			if err != nil {
				return
			}
			batchOf(b)
			left -= int64(len(b))
			buf = b
		}
	})
}
