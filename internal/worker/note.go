package worker

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// A note stands beside a committed offset, as its metadata: which records behind it
// are done too. Records end in any order, and the offset alone would let the worker that
// takes the partition over run again what was reported (decision 0033). It is lost
// with the offset, and then what it was about runs again.

const (
	// noteVersion begins a note; what begins otherwise is not ours.
	noteVersion = "h1:"
	// mostNote bounds the characters of a note. A broker takes 4096 bytes of
	// metadata, unless it is set otherwise (offset.metadata.max.bytes).
	mostNote = 4000
)

// interval is offsets from one to another, both done, with all records between.
type interval struct{ from, to int64 }

// encodeNote says which offsets behind the committed one are done. What does not
// fit into so many characters is left out: the newest.
func encodeNote(committed int64, done []interval, most int) string {
	most = base64.RawStdEncoding.DecodedLen(most - len(noteVersion))
	var room [2 * binary.MaxVarintLen64]byte
	var raw []byte
	at := committed
	for _, i := range done {
		more := binary.AppendUvarint(binary.AppendUvarint(room[:0], uint64(i.from-at)), uint64(i.to-i.from))
		if len(raw)+len(more) > most {
			break
		}
		raw = append(raw, more...)
		at = i.to
	}
	if len(raw) == 0 {
		return ""
	}
	return noteVersion + base64.RawStdEncoding.EncodeToString(raw)
}

// decodeNote is what a note beside a committed offset says; nothing if it is not one
// of ours.
func decodeNote(committed int64, note string) []interval {
	text, ours := strings.CutPrefix(note, noteVersion)
	if !ours || committed < 0 {
		return nil
	}
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	var all []interval
	for at := committed; len(raw) > 0; {
		gap, n := binary.Uvarint(raw)
		if n <= 0 {
			return nil
		}
		length, m := binary.Uvarint(raw[n:])
		from := at + int64(gap)
		to := from + int64(length)
		if m <= 0 || from < at || to < from {
			return nil
		}
		all, at, raw = append(all, interval{from, to}), to, raw[n+m:]
	}
	return all
}

// known reports whether the predecessor has noted a record as done; the records come in
// their order.
func (p *partition) known(offset int64) bool {
	for len(p.noted) > 0 && p.noted[0].to < offset {
		p.noted = p.noted[1:]
	}
	return len(p.noted) > 0 && p.noted[0].from <= offset
}

// behind is what is done behind what may be committed: of our own records, then of
// those that the predecessor has noted and we have not taken yet.
func (p *partition) behind() []interval {
	var all []interval
	open := true
	for i := p.low; i < len(p.pending); i++ {
		e := &p.pending[i]
		switch {
		case !e.done:
			open = true
		case open:
			all, open = append(all, interval{e.offset, e.offset}), false
		default:
			all[len(all)-1].to = e.offset
		}
	}
	next := p.done.Offset
	if n := len(p.pending); n > 0 {
		next = p.pending[n-1].offset + 1
	}
	for _, i := range p.noted {
		if i.to >= next {
			all = append(all, interval{max(i.from, next), i.to})
		}
	}
	return all
}
