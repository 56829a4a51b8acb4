package feed

import (
	"bytes"
	"errors"

	"github.com/heddle-run/heddle/shared/events"
)

// Identity is which cluster and topics a tenure is about: stores and positions
// are worth nothing on others of the same names. It is never changed.
type Identity struct {
	Cluster                  string
	Journal, Commands, Inbox []byte // topic ids
}

// Of is the id of an input log's topic.
func (i Identity) Of(s events.Source) []byte {
	if s == events.FromInbox {
		return i.Inbox
	}
	return i.Commands
}

// Same reports whether an input log is of the same topic.
func (i Identity) Same(as Identity, s events.Source) bool { return bytes.Equal(i.Of(s), as.Of(s)) }

// ErrRemade is an input topic that is not the one whose positions are known.
var ErrRemade = errors.New("the topic was made anew")
