package definitions

import (
	"testing"
	"time"
)

// Whatever stands on the topic is taken or passed over; the book stays whole.
func FuzzRecord(f *testing.F) {
	f.Add("sha256:0", []byte(`{"name":"a","version":"1","components":{}}`), "name/a", []byte(`{"digest":"sha256:0","version":"1"}`))
	f.Add("name/", []byte(`{"digest":"sha256:"}`), "", []byte(`null`))
	f.Add("x", []byte(`{"name":"a"}`), "x", []byte(`{"name":"b"}`))
	f.Fuzz(func(t *testing.T, k1 string, v1 []byte, k2 string, v2 []byte) {
		b := &Book{entries: map[string]Entry{}, labels: map[string]string{}, byName: map[string][]string{}}
		for _, r := range []struct {
			key   string
			value []byte
		}{{k1, v1}, {k2, v2}, {k1, v2}, {k1, v1}} {
			_ = b.apply(r.key, r.value, time.UnixMilli(1)) // an error is a record that is passed over
		}
		size := 0
		for digest, e := range b.entries {
			size += len(e.Canonical)
			if got := b.Versions(e.Name); len(got) == 0 {
				t.Errorf("%q has no version, but %q is one", e.Name, digest)
			}
		}
		if size != b.Bytes() {
			t.Errorf("%d bytes, counted as %d", size, b.Bytes())
		}
		for name, list := range b.byName {
			for _, e := range b.Versions(name) {
				if e.Name != name {
					t.Errorf("%q is a version of %q, of %q", e.Digest, name, list)
				}
			}
		}
	})
}
