package store

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Limits that every adapter holds, so that what one store takes another takes too.
const (
	MaxNumber   = math.MaxInt64 // positions and epochs; databases have no larger ones
	MaxID       = 512           // bytes of an ID
	MaxEntries  = 10_000        // entries of one append
	MaxBatch    = 16 << 20      // bytes of the entries of one append, together
	MaxSnapshot = 32 << 20      // bytes of a snapshot's data
	MaxLabels   = 128           // labels of a snapshot
	MaxFilter   = 16            // labels of a filter
	MaxLabel    = 512           // bytes of a label's name, and of its value

	DefaultLimit = 100   // items of a page, where the filter says nothing
	MaxLimit     = 1_000 // items of a page
)

// CheckID says whether an ID may be one: UTF-8 of 1 to MaxID bytes without a NUL, which some databases do not take.
func CheckID(id string) error {
	if id == "" {
		return fmt.Errorf("%w: the ID is empty", ErrInvalid)
	}
	return checkText("ID", id, MaxID)
}

// CheckAppend holds the arguments of Append to the limits.
func CheckAppend(id string, at, epoch uint64, entries [][]byte) error {
	if err := checkWrite(id, epoch); err != nil {
		return err
	}
	if len(entries) > MaxEntries {
		return fmt.Errorf("%w: %d entries, the limit is %d", ErrInvalid, len(entries), MaxEntries)
	}
	if at > MaxNumber-uint64(len(entries)) {
		return fmt.Errorf("%w: the log would be longer than %d", ErrInvalid, int64(MaxNumber))
	}
	size := 0
	for _, e := range entries {
		if size += len(e); size > MaxBatch {
			return fmt.Errorf("%w: the entries have more than %d bytes", ErrInvalid, MaxBatch)
		}
	}
	return nil
}

// CheckLoad holds the arguments of Load to the limits.
func CheckLoad(id string, from uint64) error {
	if from > MaxNumber {
		return fmt.Errorf("%w: no position is over %d", ErrInvalid, int64(MaxNumber))
	}
	return CheckID(id)
}

// CheckSnapshot holds the arguments of SaveSnapshot to the limits.
func CheckSnapshot(id string, epoch uint64, s Snapshot) error {
	if err := checkWrite(id, epoch); err != nil {
		return err
	}
	if s.At > MaxNumber {
		return fmt.Errorf("%w: no position is over %d", ErrInvalid, int64(MaxNumber))
	}
	if len(s.Data) > MaxSnapshot {
		return fmt.Errorf("%w: the snapshot has %d bytes, the limit is %d", ErrInvalid, len(s.Data), MaxSnapshot)
	}
	return checkLabels(s.Labels)
}

// CheckList holds the arguments of List to the limits and returns the size of a page. The
// cursor has to be an ID: that of the last item of the page before.
func CheckList(f Filter, cursor string) (limit int, err error) {
	if f.Limit < 0 || f.Limit > MaxLimit {
		return 0, fmt.Errorf("%w: a page of %d items, the limit is %d", ErrInvalid, f.Limit, MaxLimit)
	}
	if err := checkText("prefix", f.Prefix, MaxID); err != nil {
		return 0, err
	}
	if err := checkText("cursor", cursor, MaxID); err != nil {
		return 0, err
	}
	if len(f.Labels) > MaxFilter {
		return 0, fmt.Errorf("%w: %d labels in the filter, the limit is %d", ErrInvalid, len(f.Labels), MaxFilter)
	}
	if err := checkLabels(f.Labels); err != nil {
		return 0, err
	}
	if f.Limit == 0 {
		return DefaultLimit, nil
	}
	return f.Limit, nil
}

// CheckDelete holds the arguments of Delete to the limits.
func CheckDelete(id string, epoch uint64) error { return checkWrite(id, epoch) }

func checkWrite(id string, epoch uint64) error {
	if epoch > MaxNumber {
		return fmt.Errorf("%w: no epoch is over %d", ErrInvalid, int64(MaxNumber))
	}
	return CheckID(id)
}

func checkLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return fmt.Errorf("%w: %d labels, the limit is %d", ErrInvalid, len(labels), MaxLabels)
	}
	for name, value := range labels {
		if err := checkText("name of a label", name, MaxLabel); err != nil {
			return err
		}
		if err := checkText("value of the label "+name, value, MaxLabel); err != nil {
			return err
		}
	}
	return nil
}

func checkText(what, s string, most int) error {
	switch {
	case len(s) > most:
		return fmt.Errorf("%w: the %s has %d bytes, the limit is %d", ErrInvalid, what, len(s), most)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: the %s is no UTF-8", ErrInvalid, what)
	case strings.Contains(s, "\x00"):
		return fmt.Errorf("%w: the %s has a NUL", ErrInvalid, what)
	}
	return nil
}

// PrefixEnd returns the first text, in the order of bytes, behind all that begin with a
// prefix of UTF-8, or "" where there is none: those that begin with it are at prefix ≤ text < PrefixEnd(prefix).
func PrefixEnd(prefix string) string {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch r {
		case utf8.MaxRune: // nothing is higher; the character before it must go up
		case 0xd7ff:
			return prefix + "\ue000" // what lies between is half of a UTF-16 pair, and no character
		default:
			return prefix + string(r+1)
		}
	}
	return ""
}
