package runtime

import (
	"fmt"
	"strconv"
	"strings"
)

// ReplayRequest is an operator's cursor: an input log and the offset to read it from.
type ReplayRequest struct {
	Log    string // commands or inbox
	Offset int64
}

// ParseReplayRequest reads LOG@OFFSET for one of the given logs.
func ParseReplayRequest(cursor string, logs ...string) (ReplayRequest, error) {
	name, at, ok := strings.Cut(cursor, "@")
	offset, err := strconv.ParseInt(at, 10, 64)
	if ok && err == nil && offset >= 0 {
		for _, log := range logs {
			if name == log {
				return ReplayRequest{log, offset}, nil
			}
		}
	}
	return ReplayRequest{}, fmt.Errorf("%q is no cursor: want %s@OFFSET", cursor, strings.Join(logs, "@OFFSET or "))
}

// ReplayCursor is the place of the next record of a log.
func ReplayCursor(topic string, partition int32, offset int64) string {
	return fmt.Sprintf("%s/%d@%d", topic, partition, offset)
}

// ReplayState is the replay of a partition as of now.
type ReplayState struct {
	Cursor  string // as an operator has asked; empty: the committed one
	Pending uint64 // records below the ends seen at acquisition that are not applied
	LastID  string // of the last replayed event; empty: none

	Deferred bool // a delivery waits for the party that it is to inform
}

// Published is the state as the partition's record shows it.
func (s ReplayState) Published() Replay {
	return Replay{
		Cursor: textOf(s.Cursor), PendingEvents: s.Pending, LastReplayedEventID: textOf(s.LastID), DeferredLeaderNotification: s.Deferred,
	}
}

// textOf is null in JSON for an empty text.
func textOf(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
