package policy

import (
	"errors"
	"fmt"
)

var defaults = Default()

// Append adds the recorded form of p to b: for each field that differs from Default its tag, which is its line in the
// table, and its value. The default policy takes no bytes. Equal policies give equal bytes.
func (p Policy) Append(b []byte) []byte {
	if p == defaults {
		return b
	}
	other := p // on the heap, which p is not
	for i := range table {
		if f := &table[i]; !f.same(&other, &defaults) {
			b = f.append(append(b, byte(i+1)), &other)
		}
	}
	return b
}

var errRecorded = errors.New("recorded policy is damaged")

// Parse reads what Append wrote, to the end of b. An unknown field is an error, not skipped: it would be ignored.
func Parse(b []byte) (Policy, error) {
	if len(b) == 0 {
		return Default(), nil
	}
	return parse(b)
}

// parse is apart, because its policy is on the heap.
func parse(b []byte) (Policy, error) {
	p := Default()
	for len(b) > 0 {
		i := int(b[0]) - 1
		if i < 0 || i >= len(table) {
			return Policy{}, fmt.Errorf("%w: it has no field %d", errRecorded, b[0])
		}
		rest, whole := table[i].parse(&p, b[1:])
		if !whole {
			return Policy{}, fmt.Errorf("%w: the value of %s", errRecorded, table[i].name)
		}
		b = rest
	}
	return p, nil
}
