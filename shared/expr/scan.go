package expr

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// skipped stands for a value that no part of the expression looks at.
type skipped struct{}

// decodeFields reads a JSON value whose fields, if it is an object, are looked at only by name: the others are stepped
// over. Numbers in them are not read.
func decodeFields(raw []byte, names []string, a *Account) (any, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) {
		return decode(raw, a)
	}
	out := map[string]any{}
	err := eachMember(raw, a, func(key string, d *decoder) error {
		for _, name := range names {
			if name == key {
				v, err := d.value(1)
				out[key] = v
				return err
			}
		}
		out[key] = skipped{}
		return d.skip()
	})
	return out, err
}

// Members splits a JSON object into its fields without decoding their values. Of equal keys the last counts.
func Members(raw []byte) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	err := eachMember(raw, nil, func(key string, d *decoder) error {
		d.space()
		start := d.i
		if err := d.skip(); err != nil {
			return err
		}
		out[key] = raw[start:d.i:d.i]
		return nil
	})
	return out, err
}

// eachMember calls take for each member of an object; take moves the decoder past the value.
func eachMember(raw []byte, a *Account, take func(key string, d *decoder) error) error {
	d := a.decoder(raw)
	defer a.settle(&d)
	err := d.members(func(key string) error { return take(key, &d) })
	if err == nil {
		if d.space(); d.i != len(d.b) {
			err = errSyntax
		}
	}
	if err != nil {
		return fmt.Errorf("decode JSON at byte %d: %w", d.i, err)
	}
	return nil
}

// skip steps over one value. Within it only strings and brackets are looked at.
func (d *decoder) skip() error {
	d.space()
	start, depth := d.i, 0
	for d.i < len(d.b) {
		switch d.b[d.i] {
		case '"':
			if err := d.skipString(); err != nil {
				return err
			}
			d.i--
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 { // it belongs to the object around
				return d.some(start)
			}
		case ',':
			if depth == 0 {
				return d.some(start)
			}
		}
		d.i++
	}
	if depth > 0 {
		return errEnd
	}
	return d.some(start)
}

// some refuses a missing value.
func (d *decoder) some(start int) error {
	if d.i == start {
		return errSyntax
	}
	return nil
}

func (d *decoder) skipString() error {
	for d.i++; d.i < len(d.b); d.i++ {
		switch d.b[d.i] {
		case '"':
			d.i++
			return nil
		case '\\':
			d.i++
		}
	}
	d.i = len(d.b) // a backslash at the end leads one further
	return errEnd
}
