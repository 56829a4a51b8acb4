package view

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Filter chooses workflows of a list; a zero field chooses all.
type Filter struct {
	Status  string
	Name    string // of the definition
	Version string
	Digest  string
	Labels  map[string]string
	After   time.Time // created
	From    []byte    // the place behind which the page begins
	Limit   int
}

// MaxScanned bounds the rows that one page looks at: a rare label in a large
// deployment gives short pages with a cursor instead of slow ones.
const MaxScanned = 20_000

// List is one page, newest first, and the cursor of the next; empty at the end.
// While the view is made again there is none: it would lack workflows.
func (v *View) List(f Filter) ([]json.RawMessage, string, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.away || v.health.Err() != nil {
		return nil, "", ErrRemade
	}
	items, next, err := v.page(f)
	if err != nil && v.health.Err() != nil {
		err = ErrRemade // this page has met it
	}
	return items, next, err
}

// page is one that is read from the store as it is.
func (v *View) page(f Filter) ([]json.RawMessage, string, error) {
	prefix := f.prefix()
	it, err := v.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: end(prefix)})
	if err != nil {
		return nil, "", fmt.Errorf("read the view: %w", err)
	}
	defer it.Close()
	items := []json.RawMessage{}
	oldest := appendPlace(nil, f.After.UnixMilli(), nil)
	last, scanned := f.From, 0
	for ok := it.SeekGE(append(bytes.Clone(prefix), behind(f.From)...)); ok; ok = it.Next() {
		at := it.Key()[len(prefix):]
		if !f.After.IsZero() && bytes.Compare(at, oldest) >= 0 {
			break // newest first: what follows is older
		}
		if len(items) == f.Limit || scanned == MaxScanned {
			return items, base64.RawURLEncoding.EncodeToString(last), nil
		}
		last, scanned = bytes.Clone(at), scanned+1
		status, fits, err := v.fitting(f, at[createdSize:])
		if err != nil {
			return nil, "", err
		}
		if fits {
			items = append(items, status)
		}
	}
	return items, "", it.Error()
}

// prefix is that of the narrowest index for f.
func (f Filter) prefix() []byte {
	switch {
	case f.Status != "":
		return appendPrefix(nil, byStatus, f.Status)
	case f.Name != "":
		return appendPrefix(nil, byDefinition, f.Name)
	}
	return appendPrefix(nil, byTime, "")
}

// end is the first key after all of an index: its prefix ends with a zero byte.
func end(prefix []byte) []byte {
	b := bytes.Clone(prefix)
	b[len(b)-1] = 1
	return b
}

// behind is the first possible place after one; none is before all.
func behind(place []byte) []byte {
	if len(place) == 0 {
		return nil
	}
	return append(bytes.Clone(place), 0)
}

func (v *View) fitting(f Filter, id []byte) (json.RawMessage, bool, error) {
	stored, err := v.get(appendRowKey(nil, id))
	if err != nil || stored == nil {
		return nil, false, err
	}
	r, status, err := storedRow(stored)
	if err == nil && (f.Version != "" || f.Digest != "") {
		r, err = parseRow(status)
	}
	if err != nil {
		return nil, false, fmt.Errorf("the view's own row of %s: %w", id, err)
	}
	if !f.fits(r) || len(f.Labels) == 0 {
		return status, f.fits(r), nil
	}
	return status, f.fitsLabels(parseLabels(status)), nil
}

func (f Filter) fits(r row) bool {
	return fitsText(f.Status, r.status) && fitsText(f.Name, r.name) &&
		fitsText(f.Version, r.version) && fitsText(f.Digest, r.digest)
}

func fitsText(want string, is []byte) bool { return want == "" || string(is) == want }

func (f Filter) fitsLabels(labels map[string]json.RawMessage) bool {
	for name, want := range f.Labels {
		if labelText(labels[name]) != want {
			return false
		}
	}
	return true
}

// labelText is a label's value as it is written in a query: texts without their
// quotes, all else as JSON.
func labelText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// ErrCursor is what a text is that is no cursor of a list.
var ErrCursor = errors.New("is not a cursor of this list")

// ParseCursor reads a list's cursor: the place behind which the page begins.
func ParseCursor(cursor string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || cursor != "" && len(b) <= createdSize {
		return nil, ErrCursor
	}
	return b, nil
}
