// Package replay is how far a planner partition is behind its logs, and an
// operator's request to read an input log again (document 7).
//
// The package is pure.
package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/shared/snapshot"
)

// Request is an operator's cursor: an input log and the offset to read it from.
type Request struct {
	Log    string // commands or inbox
	Offset int64
}

// ParseRequest reads LOG@OFFSET for one of the given logs.
func ParseRequest(cursor string, logs ...string) (Request, error) {
	name, at, ok := strings.Cut(cursor, "@")
	offset, err := strconv.ParseInt(at, 10, 64)
	if ok && err == nil && offset >= 0 {
		for _, log := range logs {
			if name == log {
				return Request{log, offset}, nil
			}
		}
	}
	return Request{}, fmt.Errorf("%q is no cursor: want %s@OFFSET", cursor, strings.Join(logs, "@OFFSET or "))
}

// Cursor is the place of the next record of a log.
func Cursor(topic string, partition int32, offset int64) string {
	return fmt.Sprintf("%s/%d@%d", topic, partition, offset)
}

// State is the replay of a partition as of now.
type State struct {
	Cursor  string // as an operator has asked; empty: the committed one
	Pending uint64 // records below the ends seen at acquisition that are not applied
	LastID  string // of the last replayed event; empty: none
}

// Published is the state as the partition's record shows it.
func (s State) Published() snapshot.Replay {
	return snapshot.Replay{Cursor: text(s.Cursor), PendingEvents: s.Pending, LastReplayedEventID: text(s.LastID)}
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
