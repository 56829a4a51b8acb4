package history

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
)

// Cursor is the place of one event: OFFSET-EPOCH.SEQ-INDEX-NUMBER when printed.
// What it points at has been read; reading goes on behind it. The zero Cursor stands
// before a run's first event.
type Cursor struct {
	Offset        int64
	Position      events.Position
	Index         int    // in the record
	WithoutEffect uint64 // inputs of the run, up to this event, that changed nothing
}

// IsZero reports whether c stands before the first event.
func (c Cursor) IsZero() bool { return c.Position.IsZero() }

// String is the printed form; empty for the zero Cursor.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	return fmt.Sprintf("%d-%s-%d-%d", c.Offset, c.Position, c.Index, c.WithoutEffect)
}

// ParseCursor reads the printed form.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	parts := strings.Split(s, "-")
	if len(parts) != 4 {
		return Cursor{}, errCursor(s)
	}
	offset, err1 := strconv.ParseInt(parts[0], 10, 64)
	position, err2 := events.ParsePosition(parts[1])
	index, err3 := strconv.Atoi(parts[2])
	number, err4 := strconv.ParseUint(parts[3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || offset < 0 || index < 0 || position.IsZero() {
		return Cursor{}, errCursor(s)
	}
	return Cursor{offset, position, index, number}, nil
}

func errCursor(s string) error {
	return fmt.Errorf("%q is no place in a history: want the form OFFSET-EPOCH.SEQ-INDEX-NUMBER", s)
}
