package pebblestore

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/heddle-run/heddle/sdk/store"
)

// head is what is true of a whole log, beside its entries and its snapshot's data.
type head struct {
	end, epoch uint64
	snapshot   bool
	at         uint64 // of the snapshot
	labels     map[string]string
}

// Keys begin with a byte that says what they are of. An ID has no NUL, so
// heads lie in the order of IDs, and entries of an ID together.
const (
	formatKey = 'f'
	headKey   = 'h' // and the ID
	dataKey   = 's' // and the ID: the snapshot's data
	entryKey  = 'e' // and the ID, a NUL and the position
)

func keyOf(kind byte, id string) []byte { return append([]byte{kind}, id...) }

func keyOfEntry(id string, at uint64) []byte {
	return binary.BigEndian.AppendUint64(append(keyOf(entryKey, id), 0), at)
}

// encode writes a head: end, epoch, one more than what the snapshot covers or 0, and the labels in order.
func (h head) encode() []byte {
	b := binary.AppendUvarint(nil, h.end)
	b = binary.AppendUvarint(b, h.epoch)
	if !h.snapshot {
		return binary.AppendUvarint(b, 0)
	}
	b = binary.AppendUvarint(b, h.at+1)
	b = binary.AppendUvarint(b, uint64(len(h.labels)))
	for _, name := range slices.Sorted(maps.Keys(h.labels)) {
		b = appendText(appendText(b, name), h.labels[name])
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errHead = errors.New("the head of a log is not what this program writes")

// decodeHead reads what encode writes, and nothing else.
func decodeHead(b []byte) (head, error) {
	r := reader{b: b}
	h := head{end: r.number(), epoch: r.number()}
	if at := r.number(); at > 0 {
		h.snapshot, h.at = true, at-1
		h.labels = r.labels()
	}
	if r.failed || len(r.b) > 0 || h.at > h.end {
		return head{}, errHead
	}
	return h, nil
}

// reader takes bytes apart, until they are not what they should be.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || size > 1 && r.b[size-1] == 0 || n > store.MaxNumber+1 {
		r.failed, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.failed, r.b = true, nil
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) labels() map[string]string {
	n := r.number()
	if n == 0 {
		return nil
	}
	labels, before := map[string]string{}, ""
	for i := range n {
		name, value := r.text(), r.text()
		if r.failed || i > 0 && name <= before {
			r.failed = true
			return nil
		}
		labels[name], before = value, name
	}
	return labels
}
