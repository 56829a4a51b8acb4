package runners

import (
	"context"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/shared/frames"
)

// outgoing are frames that wait for the runner to read them.
type outgoing struct {
	frames  [][]byte
	bytes   int
	writing bool          // a goroutine writes
	since   time.Duration // when it began with the frame that it has
}

func (o *outgoing) drop() { o.frames, o.bytes = nil, 0 }

// send sends a frame, and reports whether it is on its way. A runner that does not read what it is sent is closed.
func (s *session) send(f frames.ToClient) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enqueue(f)
}

// enqueue is send by who holds s.mu.
func (s *session) enqueue(f frames.ToClient) bool {
	if s.closing != nil || s.phase == gone {
		return false
	}
	b := frames.EncodeToClient(s.encoding, f)
	o, l := &s.out, s.server.config.Limits
	if len(o.frames) > 0 && (len(o.frames) >= l.OutFrames || o.bytes+len(b) > l.OutBytes) {
		o.drop()
		go s.shut(frames.CloseSlow) // it needs s.mu
		return false
	}
	s.server.metrics.out.Inc()
	o.frames = append(o.frames, b)
	o.bytes += len(b)
	if !o.writing {
		o.writing = true
		o.since = s.server.now()
		go s.write()
	}
	return true
}

// write writes what waits, and then the close frame if the socket is to be closed.
func (s *session) write() {
	kind := websocket.MessageText
	if s.encoding == frames.Binary {
		kind = websocket.MessageBinary
	}
	for {
		b, closing := s.nextOut()
		if b == nil {
			if closing {
				s.hangUp()
			}
			return
		}
		if err := s.conn.Write(context.Background(), kind, b); err != nil {
			s.mu.Lock()
			s.out.drop() // the reader hears of it, too
			s.mu.Unlock()
		}
	}
}

// nextOut is what is written next; nothing: the writer ends, or closes the socket.
func (s *session) nextOut() (b []byte, closing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.out
	if len(o.frames) == 0 {
		o.writing = false
		o.frames = nil
		return nil, s.closing != nil
	}
	b = o.frames[0]
	o.frames[0] = nil
	o.frames = o.frames[1:]
	o.bytes -= len(b)
	o.since = s.server.now()
	return b, false
}
