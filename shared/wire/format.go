package wire

import (
	"fmt"
	"strconv"
)

// FormatHeader names the header of an internal record that says, in decimal, which
// version its format has. A record without it has the first one.
const FormatHeader = "v"

// FormatError refuses what a newer program has written: to go on without knowing what it
// says would lose it.
type FormatError struct {
	What  string // a record by its place, a store by its directory
	Has   uint64 // the version of its format
	Knows uint64 // the highest version that this program reads
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s has format version %d, and this program reads versions up to %d: run a newer version of heddle here", e.What, e.Has, e.Knows)
}

// ParseFormat reads the value of a FormatHeader: a number from 1 on, as Format
// writes it.
func ParseFormat(value []byte) (uint64, error) {
	v, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil || v == 0 || strconv.FormatUint(v, 10) != string(value) {
		return 0, fmt.Errorf("header %s is %.20q, want the number of a format version", FormatHeader, value)
	}
	return v, nil
}

// Format is the value of the FormatHeader of a version.
func Format(version uint64) []byte { return strconv.AppendUint(nil, version, 10) }
