package tunnel

import (
	"errors"
	"slices"

	"github.com/heddle-run/heddle/shared/frames"
)

// Stream is one request as one of its ends has it. What is sent stays until the other end has taken it, so that it can be sent again;
// what is received is counted until the reader here has taken it, and acknowledged then.
type Stream struct {
	id string

	next  uint16           // index of the next message that is sent
	sent  []*frames.Tunnel // that are not acknowledged, oldest first
	bytes int              // of their bodies

	want    uint16 // index of the next message that is received
	waiting []int  // sizes of the messages that were received and not taken, oldest first
	held    int    // their sum
	since   int    // messages that were taken since the last acknowledgement
	freed   int    // and the bytes of their bodies
	hurry   bool   // the other end is to know soon
}

// NewStream is a request of which nothing was sent.
func NewStream(id string) Stream { return Stream{id: id} }

// What the other end does that it must not.
var (
	ErrFlood = errors.New("the other end sends more than it may have on its way")
	ErrIndex = errors.New("the other end acknowledges what was not sent")
)

// ID is the request's.
func (s *Stream) ID() string { return s.id }

// Room reports whether a message with so many bytes of a body may be sent now.
func (s *Stream) Room(size int) bool {
	return len(s.sent) == 0 || len(s.sent) < frames.TunnelMessages && s.bytes+size <= frames.TunnelWindow
}

// Send is a message with its index. The caller has asked for room, but for a message that ends the direction.
func (s *Stream) Send(m frames.TunnelMessage) *frames.Tunnel {
	t := &frames.Tunnel{RequestID: s.id, MessageIdx: s.next, Inner: m}
	s.next++
	s.sent = append(s.sent, t)
	s.bytes += frames.Size(m)
	return t
}

// Abort is a message that has no index, and counts at once: RequestAbort or ResponseAbort.
func (s *Stream) Abort(m frames.TunnelMessage) *frames.Tunnel {
	return &frames.Tunnel{RequestID: s.id, Inner: m}
}

// Acked takes an acknowledgement, and reports whether it is news.
func (s *Stream) Acked(last uint16) (news bool, err error) {
	oldest := s.next - uint16(len(s.sent))
	n := int(last - oldest + 1) // of how many messages it is, around the end of all indexes
	switch {
	case n == 0 || !frames.After(last+1, oldest): // one that came late
		return false, nil
	case n > len(s.sent):
		return false, ErrIndex
	}
	for i := range n {
		s.bytes -= frames.Size(s.sent[i].Inner)
		s.sent[i] = nil
	}
	if s.sent = s.sent[n:]; len(s.sent) == 0 {
		s.sent = nil
	}
	return true, nil
}

// Settled reports whether the other end has taken all that was sent.
func (s *Stream) Settled() bool { return len(s.sent) == 0 }

// Verdict is what a message that was received is.
type Verdict uint8

// Verdicts.
const (
	Fresh Verdict = iota // it is the next one
	Again                // it was received before: what was taken is to be acknowledged again
	Gap                  // others are missing before it: it will come again
)

// Received takes a message that is neither an abort nor an acknowledgement.
func (s *Stream) Received(t *frames.Tunnel) (Verdict, error) {
	if t.MessageIdx != s.want {
		if frames.After(t.MessageIdx, s.want) {
			return Gap, nil
		}
		return Again, nil
	}
	size := frames.Size(t.Inner)
	if len(s.waiting) > 0 && !Ends(t.Inner) && (len(s.waiting) >= frames.TunnelMessages || s.held+size > frames.TunnelWindow) || len(s.waiting) > frames.TunnelMessages {
		return Fresh, ErrFlood
	}
	s.want++
	s.waiting = append(s.waiting, size)
	s.held += size
	s.hurry = s.hurry || hurries(t.Inner)
	return Fresh, nil
}

// Taken notes that the reader has taken the oldest message that waits, and reports whether it is to be acknowledged now.
func (s *Stream) Taken() (due bool) {
	size := s.waiting[0]
	s.waiting = s.waiting[1:]
	s.held -= size
	s.since++
	s.freed += size
	return s.since >= frames.TunnelMessages/4 || s.freed >= frames.TunnelWindow/4 || s.hurry && len(s.waiting) == 0
}

// Ack acknowledges what was taken.
func (s *Stream) Ack() *frames.Tunnel {
	s.since, s.freed, s.hurry = 0, 0, s.hurry && len(s.waiting) > 0
	return &frames.Tunnel{RequestID: s.id, Inner: &frames.TunnelAck{LastMessageIdx: s.want - uint16(len(s.waiting)) - 1}}
}

// Again is what is to be sent where the other end may have missed something, as on another socket: all that it has not acknowledged,
// and an acknowledgement, which would tell nothing to who does not have the request yet. The messages are the Stream's.
func (s *Stream) Again() []*frames.Tunnel {
	return append(slices.Clone(s.sent), s.Ack())
}

// Ends reports whether a message is the last one of its direction.
func Ends(m frames.TunnelMessage) bool {
	switch m.(type) {
	case *frames.RequestEnd, *frames.ResponseEnd, *frames.WebSocketClose:
		return true
	}
	return false
}

// hurries reports whether the other end waits to hear that a message was taken.
func hurries(m frames.TunnelMessage) bool {
	switch m.(type) {
	case *frames.RequestStart, *frames.WebSocketOpen:
		return true
	}
	return Ends(m)
}
