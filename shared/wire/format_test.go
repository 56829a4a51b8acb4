package wire_test

import (
	"bytes"
	"testing"

	"github.com/heddle-run/heddle/shared/wire"
)

// A version has one form, or is refused.
func FuzzFormat(f *testing.F) {
	for _, s := range []string{"1", "2", "0", "01", "", "-1", "18446744073709551615", "18446744073709551616", "1 "} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := wire.ParseFormat(b); err == nil && (v == 0 || !bytes.Equal(wire.Format(v), b)) {
			t.Errorf("%q is version %d", b, v)
		}
	})
}
