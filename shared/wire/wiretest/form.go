// Package wiretest has what fuzz targets share.
package wiretest

import (
	"bytes"
	"testing"

	"github.com/heddle-run/heddle/shared/wire"
)

// OneForm holds that each message which b decodes into is written in one form:
// read again, that form comes back as it is. all makes them empty.
func OneForm(t testing.TB, b []byte, all func() []wire.Message) {
	t.Helper()
	again := all()
	for i, m := range all() {
		if wire.Unmarshal(b, m) != nil {
			continue
		}
		own := wire.Marshal(m)
		if err := wire.Unmarshal(own, again[i]); err != nil || !bytes.Equal(wire.Marshal(again[i]), own) {
			t.Errorf("%x is the %T %+v, then %+v, %v", b, m, m, again[i], err)
		}
	}
}
