package search

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"
)

// createdSize is the length of the time in a place.
const createdSize = 8

// AppendPlace appends what orders workflows: by creation (Unix ms), newest first,
// then by ID.
func AppendPlace[T string | []byte](b []byte, created int64, id T) []byte {
	return append(binary.BigEndian.AppendUint64(b, ^uint64(created)), id...)
}

// PlaceID is the workflow's ID in a place.
func PlaceID(place []byte) []byte { return place[createdSize:] }

// ErrCursor is what a text is that is no cursor of a list.
var ErrCursor = errors.New("is not a cursor of this list")

// Cursor prints a place: a list that is asked for with it goes on behind it.
func Cursor(place []byte) string { return base64.RawURLEncoding.EncodeToString(place) }

// Behind is the cursor behind one workflow.
func Behind(created time.Time, id string) string {
	return Cursor(AppendPlace(nil, created.UnixMilli(), id))
}

// ParseCursor reads a cursor; the empty one is of the list's begin.
func ParseCursor(cursor string) (place []byte, err error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || cursor != "" && len(b) <= createdSize {
		return nil, ErrCursor
	}
	return b, nil
}
