package events

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/shared/wire"
)

// FactID numbers the facts of one run in journal order; printed as f12.
type FactID uint64

// RunnableID numbers the runnables of one run in journal order; printed as r7.
type RunnableID uint64

// ScopeID is the fact that opened the scope: an input, or in a nested scope the fact of
// an element or of an iteration.
type ScopeID = FactID

func (id FactID) String() string     { return "f" + strconv.FormatUint(uint64(id), 10) }
func (id RunnableID) String() string { return "r" + strconv.FormatUint(uint64(id), 10) }

// ParseRunnableID reads the printed form.
func ParseRunnableID(s string) (RunnableID, error) {
	digits, ok := strings.CutPrefix(s, "r")
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a runnable: want the form r7", s)
	}
	return RunnableID(n), nil
}

// Position is a place in the order of one partition: the journal's truth.
// Positions order by epoch, then seq.
type Position struct {
	Epoch uint64
	Seq   uint64
}

// Fields implements wire.Message.
func (p *Position) Fields(c *wire.Codec) {
	wire.Int(c, 1, "epoch", &p.Epoch)
	wire.Int(c, 2, "seq", &p.Seq)
}

// Before reports whether p comes earlier than q.
func (p Position) Before(q Position) bool {
	return p.Epoch < q.Epoch || p.Epoch == q.Epoch && p.Seq < q.Seq
}

// IsZero reports whether p is no position.
func (p Position) IsZero() bool { return p == Position{} }

// String is the printed form EPOCH.SEQ.
func (p Position) String() string { return string(p.appendTo(make([]byte, 0, 41))) }

func (p Position) appendTo(b []byte) []byte {
	b = strconv.AppendUint(b, p.Epoch, 10)
	return strconv.AppendUint(append(b, '.'), p.Seq, 10)
}

// MarshalText implements encoding.TextMarshaler: the printed form.
func (p Position) MarshalText() ([]byte, error) { return p.appendTo(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Position) UnmarshalText(b []byte) (err error) {
	*p, err = ParsePosition(string(b))
	return err
}

// ParsePosition reads the printed form.
func ParsePosition(s string) (Position, error) {
	e, q, ok := strings.Cut(s, ".")
	epoch, err1 := strconv.ParseUint(e, 10, 64)
	seq, err2 := strconv.ParseUint(q, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return Position{}, fmt.Errorf("%q is not a position: want EPOCH.SEQ", s)
	}
	return Position{epoch, seq}, nil
}

// RunID names one life of a workflow ID: the position of its WorkflowStarted.
type RunID = Position

// MaxWorkflowID is the longest workflow ID in bytes.
const MaxWorkflowID = 255

// ErrWorkflowID is what CheckWorkflowID's errors are.
var ErrWorkflowID = errors.New("invalid workflow id")

// CheckWorkflowID reports whether a client may use id: 1 to 255 bytes of
// A-Za-z0-9._:/- that do not begin as the system's own ids do.
func CheckWorkflowID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: it is empty", ErrWorkflowID)
	case len(id) > MaxWorkflowID:
		return fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrWorkflowID, len(id), MaxWorkflowID)
	case strings.ContainsFunc(id, foreignToIDs):
		return fmt.Errorf("%w: %q may only have A-Z a-z 0-9 . _ : / -", ErrWorkflowID, id)
	case strings.HasPrefix(id, "_"), strings.HasPrefix(id, "pool:"), strings.HasPrefix(id, "schedule:"), strings.HasPrefix(id, "key:"), strings.HasPrefix(id, NoticePrefix):
		return fmt.Errorf("%w: ids beginning with _, pool:, schedule:, key: or notice: are the system's", ErrWorkflowID)
	}
	return nil
}

func foreignToIDs(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return r != '.' && r != '_' && r != ':' && r != '/' && r != '-'
}
