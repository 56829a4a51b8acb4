package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/heddle-run/heddle/shared/rows"
)

// ops is a packed list of changes of one owner's keys, in order: per change its
// kind, the size of the row, the length of the key, the key without the owner. A
// few bytes per change, because millions may be waiting for their workflow's
// checkpoint.
type ops []byte

// Kinds of changes.
const (
	changed = 0 // the changelog may have a row at the key
	born    = 1 // it has none, and the store had none
	died    = 2 // deleted
)

// append adds one change of a key of owner, to a row of so many bytes.
func (o ops) append(kind byte, size int, owner string, k rows.Key) ops {
	if owner != "" {
		k.Workflow = ""
	}
	o = append(o, kind)
	o = binary.AppendUvarint(o, uint64(size))
	o = append(o, 0)
	at := len(o)
	o = k.Append(o)
	length := len(o) - at
	if length < 0x80 {
		o[at-1] = byte(length)
		return o
	}
	return o.widen(at, length)
}

// widen makes room for a length of more than one byte before the key at at.
func (o ops) widen(at, size int) ops {
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(size))
	return slices.Replace(o, at-1, at, length[:n]...)
}

// op is one change of an unpacked list.
type op struct {
	kind byte
	turn int32  // place in the list
	size int    // of the row
	head uint64 // the key's first bytes: most comparisons need no more
	key  []byte // without the owner; part of the list
}

func (o ops) unpack(list []op) []op {
	for len(o) > 0 {
		size, n := binary.Uvarint(o[1:])
		length, m := binary.Uvarint(o[1+n:])
		end := 1 + n + m + int(length)
		key := o[1+n+m : end]
		list = append(list, op{o[0], int32(len(list)), int(size), head(key), key})
		o = o[end:]
	}
	return list
}

// bytes is the size of one change's key and row.
func (a *op) bytes() int { return len(a.key) + a.size }

func head(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var padded [8]byte
	copy(padded[:], key)
	return binary.BigEndian.Uint64(padded[:])
}

// compare orders by key, then by turn.
func (a *op) compare(b *op) int {
	if a.head != b.head {
		return cmp.Compare(a.head, b.head)
	}
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c
	}
	return int(a.turn - b.turn)
}

// fold appends to out the list reduced to one change per key, in key order, and
// to kept the values of these changes where v has them. Keys that were born and
// died again are gone: neither changelog nor store has them.
func (o ops) fold(v *values, out ops, kept *values, room []op) (ops, []op) {
	room = o.lasts(room[:0])
	for i := range room {
		last := &room[i]
		out = out.raw(last)
		if v.some() {
			kept.add(v.at(last.turn))
		}
	}
	return out, room
}

// lasts are the last changes of each key, in key order: born if the changelog
// cannot know of the key, died if it may and must forget it, else changed. The
// list is made in room, which is empty.
func (o ops) lasts(room []op) []op {
	list := o.unpack(room)
	slices.SortFunc(list, func(a, b op) int { return a.compare(&b) })
	lasts := list[:0]
	for rest := list; len(rest) > 0; {
		same := 1
		for same < len(rest) && bytes.Equal(rest[same].key, rest[0].key) {
			same++
		}
		wasBorn, last := rest[0].kind == born, rest[same-1]
		rest = rest[same:]
		switch {
		case wasBorn && last.kind == died:
			continue
		case wasBorn:
			last.kind = born
		case last.kind == born: // again, after it died
			last.kind = changed
		}
		lasts = append(lasts, last)
	}
	return lasts
}

func (o ops) raw(a *op) ops {
	o = append(o, a.kind)
	o = binary.AppendUvarint(o, uint64(a.size))
	o = binary.AppendUvarint(o, uint64(len(a.key)))
	return append(o, a.key...)
}

// demote makes all changes ones that the changelog may know of.
func (o ops) demote() ops {
	out := make(ops, 0, len(o))
	for _, one := range o.unpack(nil) {
		one.kind = changed
		out = out.raw(&one)
	}
	return out
}

// volume is the bytes of the keys and rows of all changes.
func (o ops) volume() int {
	sum := 0
	for len(o) > 0 {
		size, n := binary.Uvarint(o[1:])
		length, m := binary.Uvarint(o[1+n:])
		sum += int(size) + int(length)
		o = o[1+n+m+int(length):]
	}
	return sum
}

// valid reports whether o is a well-formed list.
func (o ops) valid() bool {
	for len(o) > 0 {
		size, n := binary.Uvarint(o[1:])
		if n <= 0 || size > math.MaxInt32 {
			return false
		}
		length, m := binary.Uvarint(o[1+n:])
		if m <= 0 || length > uint64(len(o)-1-n-m) {
			return false
		}
		o = o[1+n+m+int(length):]
	}
	return true
}

// fullKey appends the store's key of a packed one.
func fullKey(buf []byte, owner string, key []byte) ([]byte, error) {
	if owner == "" {
		return append(buf, key...), nil
	}
	return rows.AppendOf(buf, owner, key)
}
