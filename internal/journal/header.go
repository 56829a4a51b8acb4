package journal

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Names of the headers, decimal ASCII each, beside wire.FormatHeader: these are read
// whatever the format is, so that all readers agree which records count.
const (
	epochHeader    = "e"
	seqHeader      = "s"
	replacesHeader = "r" // of takeover records only
)

// Header is what the void rule needs of a record.
type Header struct {
	Position events.Position
	Takeover bool
	Replaces uint64 // of a takeover: the epoch that it replaces
}

// Lawful asks f about the record of this header.
func (h Header) Lawful(f *Filter) bool {
	if h.Takeover {
		return f.Lawful(h.Position.Epoch, h.Position.Seq, &h.Replaces)
	}
	return f.Lawful(h.Position.Epoch, h.Position.Seq, nil)
}

// headerOf is the header of a record; a takeover is what has seq 1.
func headerOf(rec *events.Record) Header {
	return Header{Position: rec.Position, Takeover: rec.Position.Seq == 1, Replaces: rec.Replaces}
}

// version is the format header of the journal's records. Nobody changes it.
var version = kgo.RecordHeader{Key: wire.FormatHeader, Value: wire.Format(events.Version)}

// appendHeaders appends the Kafka headers of rec to list. Their values stand in
// digits; when that grows, earlier ones stay where they are.
func appendHeaders(list []kgo.RecordHeader, digits []byte, rec *events.Record) []kgo.RecordHeader {
	h := headerOf(rec)
	add := func(key string, v uint64) {
		from := len(digits)
		digits = strconv.AppendUint(digits, v, 10)
		list = append(list, kgo.RecordHeader{Key: key, Value: digits[from:len(digits):len(digits)]})
	}
	add(epochHeader, h.Position.Epoch)
	add(seqHeader, h.Position.Seq)
	if h.Takeover {
		add(replacesHeader, h.Replaces)
	}
	return append(list, version)
}

var errHeaders = errors.New("no record of a journal: its headers")

// ParseHeaders reads the headers that the void rule needs; others are passed
// over. A record without them, or with one of them twice, is no journal record
// and therefore void.
func ParseHeaders(headers []kgo.RecordHeader) (Header, error) {
	var h Header
	var seen [3]bool
	for i := range headers {
		var at int
		var into *uint64
		switch headers[i].Key {
		case epochHeader:
			at, into = 0, &h.Position.Epoch
		case seqHeader:
			at, into = 1, &h.Position.Seq
		case replacesHeader:
			at, into = 2, &h.Replaces
		default:
			continue
		}
		v, ok := parseDecimal(headers[i].Value)
		if !ok || seen[at] {
			return Header{}, fmt.Errorf("%w: %s is %q or comes twice", errHeaders, headers[i].Key, headers[i].Value)
		}
		*into, seen[at] = v, true
	}
	if !seen[0] || !seen[1] {
		return Header{}, fmt.Errorf("%w: e or s is missing", errHeaders)
	}
	h.Takeover = seen[2]
	return h, nil
}

// parseDecimal reads a number in the one form that decimal writes.
func parseDecimal(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 20 || len(b) > 1 && b[0] == '0' {
		return 0, false
	}
	var v uint64
	for _, x := range b {
		d := uint64(x - '0')
		if x < '0' || x > '9' || v > (1<<64-1-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	return v, true
}
