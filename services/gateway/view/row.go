package view

import (
	"encoding/binary"
	"errors"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/search"
)

// row is what the view knows of a status without showing it.
type row struct {
	known    bool // false: there is no such workflow
	position events.Position
	created  int64 // Unix ms
	status   []byte
	name     []byte // of the definition
	version  []byte // not stored: in the status
	digest   []byte // likewise
}

// asStored takes JSON as workers may have given it: names may come twice.
var asStored = jsontext.AllowDuplicateNames(true)

// parseRow reads a status; one that is empty says that there is no workflow.
func parseRow(status []byte) (row, error) {
	if len(status) == 0 {
		return row{}, nil
	}
	var s struct {
		Status     string               `json:"status"`
		CreatedAt  string               `json:"created_at"`
		Position   string               `json:"position"`
		Definition events.DefinitionRef `json:"definition"`
	}
	if err := jsonv2.Unmarshal(status, &s, asStored); err != nil {
		return row{}, err
	}
	created, err := time.Parse(time.RFC3339, s.CreatedAt)
	d := s.Definition
	return row{
		known: true, position: positionOf(s.Position), created: created.UnixMilli(), status: []byte(s.Status),
		name: []byte(d.Name), version: []byte(d.Version), digest: []byte(d.Digest),
	}, err
}

// positionOf reads a printed position; none for one that cannot be read.
func positionOf(printed string) events.Position {
	p, err := events.ParsePosition(printed)
	if err != nil {
		return events.Position{}
	}
	return p
}

// older reports whether r is known to be of before the other; what has no position
// is not.
func (r row) older(other row) bool {
	return r.known && other.known && !r.position.IsZero() && r.position.Before(other.position)
}

// A stored row is, before its status: the position, when it was created, and
// the texts that indexes are made of, each behind its length. So code that replaces
// it need not read JSON again.
const rowFixed = 24

var errStored = errors.New("a stored row is cut short")

// appendTo appends what is stored before the status.
func (r row) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, r.position.Epoch)
	b = binary.BigEndian.AppendUint64(b, r.position.Seq)
	b = binary.BigEndian.AppendUint64(b, uint64(r.created))
	b = append(binary.AppendUvarint(b, uint64(len(r.status))), r.status...)
	return append(binary.AppendUvarint(b, uint64(len(r.name))), r.name...)
}

// storedRow takes what is stored apart: the row, and the status behind it.
func storedRow(b []byte) (r row, status []byte, err error) {
	if len(b) < rowFixed {
		return row{}, nil, errStored
	}
	r.known = true
	r.position.Epoch = binary.BigEndian.Uint64(b)
	r.position.Seq = binary.BigEndian.Uint64(b[8:])
	r.created = int64(binary.BigEndian.Uint64(b[16:]))
	b = b[rowFixed:]
	for _, text := range []*[]byte{&r.status, &r.name} {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return row{}, nil, errStored
		}
		*text, b = b[n:n+int(size)], b[n+int(size):]
	}
	return r, b, nil
}

// appendRowKey appends the key of a workflow's row.
func appendRowKey(b, id []byte) []byte { return append(append(b, rowPrefix...), id...) }

// rowPrefix begins the keys of rows, rowEnd is behind them all.
const (
	rowPrefix = "w/"
	rowEnd    = "w0"
)

// index is a way to order workflows; its letter begins its keys.
type index byte

const (
	byTime       index = 'c'
	byStatus     index = 's'
	byDefinition index = 'd'
)

// appendKey appends the key that leads to a workflow, a prefix and the place;
// nothing when there is no workflow.
func (i index) appendKey(b []byte, r row, id []byte) []byte {
	if !r.known {
		return b
	}
	var value []byte
	switch i {
	case byStatus:
		value = r.status
	case byDefinition:
		value = r.name
	case byTime:
	}
	return search.AppendPlace(appendPrefix(b, i, value), r.created, id)
}

func appendPrefix[T string | []byte](b []byte, i index, value T) []byte {
	return append(append(append(b, byte(i), '/'), value...), 0)
}
