// Package rowstest shows rows to tests, so that two states can be compared as texts.
package rowstest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Writes are changes of rows as lines, in the order of their keys.
func Writes(writes []rows.Write) string {
	writes = slices.Clone(writes)
	slices.SortFunc(writes, func(a, b rows.Write) int { return rows.Compare(a.Key, b.Key) })
	var b bytes.Buffer
	for _, x := range writes {
		if x.Row == nil {
			fmt.Fprintf(&b, "%v deleted\n", x.Key)
		} else {
			fmt.Fprintf(&b, "%v %x\n", x.Key, wire.Marshal(x.Row))
		}
	}
	return b.String()
}

// Memory is a whole state likewise.
func Memory(m *rows.Memory) string {
	var all []rows.Write
	for _, k := range m.Keys() {
		all = append(all, rows.Write{Key: k, Row: m.Get(k, nil)})
	}
	return Writes(all)
}
