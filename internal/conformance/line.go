package conformance

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/shared/frames"
)

// line is one end of a socket, from whose other end come frames of the type In.
type line[In any] struct {
	judge    *judged
	conn     *websocket.Conn
	encoding frames.Encoding
	decode   func(frames.Encoding, []byte) (In, error)
	pulse    func(In) bool                // what only keeps the socket is passed by who waits for something else
	in       chan In                      // closed when the socket has ended
	over     atomic.Pointer[frames.Close] // by the other end, before in is closed; nil: not yet, or without a close frame
	err      error                        // of a frame that cannot be read
}

// mostWaiting are more frames than a case has come before it looks at them.
const mostWaiting = 10_000

// read has frames come, until the socket ends.
func (l *line[In]) read() {
	defer close(l.in)
	for {
		_, b, err := l.conn.Read(context.Background())
		if err != nil {
			if c, ok := errors.AsType[websocket.CloseError](err); ok {
				l.over.Store(&frames.Close{Code: int(c.Code), Reason: c.Reason})
			}
			return
		}
		f, err := l.decode(l.encoding, b)
		if err != nil {
			l.err = err
			return
		}
		l.in <- f
	}
}

// write writes the bytes of a frame.
func (l *line[In]) write(b []byte) {
	if err := l.put(b); err != nil {
		l.judge.fail("the socket takes no frame: %v", err)
	}
}

func (l *line[In]) put(b []byte) error {
	kind := websocket.MessageText
	if l.encoding == frames.Binary {
		kind = websocket.MessageBinary
	}
	return l.conn.Write(l.judge.ctx, kind, b)
}

// drop ends the connection without a close frame.
func (l *line[In]) drop() {
	if err := l.conn.CloseNow(); err != nil {
		l.judge.fail("the socket was closed already: %v", err)
	}
}

// close ends the socket with a close frame.
func (l *line[In]) close(c frames.Close) {
	if err := l.conn.Close(websocket.StatusCode(c.Code), c.Reason); err != nil {
		l.judge.fail("the close %s was not answered: %v", c.Reason, err)
	}
}

// frame is the next frame that is no pulse; nil: the socket has ended.
func (l *line[In]) frame(limit time.Duration) any {
	timeout := time.After(limit)
	for {
		select {
		case f, open := <-l.in:
			if !open {
				l.judge.check(l.err == nil, "%v", l.err)
				return nil
			}
			if !l.pulse(f) {
				return f
			}
		case <-timeout:
			l.judge.fail("nothing comes for %v", limit)
		}
	}
}

func (l *line[In]) end() (*judged, frames.Close) { return l.judge, l.closed() }

// closed is how the other end has closed the socket; zero: it has not.
func (l *line[In]) closed() frames.Close {
	if c := l.over.Load(); c != nil {
		return *c
	}
	return frames.Close{}
}

// hearing is a line, whatever comes from its other end.
type hearing interface {
	frame(limit time.Duration) any
	end() (*judged, frames.Close)
}

// want is the next frame that is no pulse, which must be of its type.
func want[F any](l hearing) F {
	f := l.frame(patience)
	j, closed := l.end()
	if f == nil {
		j.fail("the socket is closed with %+v, want %T", closed, *new(F))
	}
	wanted, ok := f.(F)
	j.check(ok, "got %T, want %T", f, *new(F))
	return wanted
}

// ended waits for the end of the socket; other frames before it are passed.
func (l *line[In]) ended(limit time.Duration) frames.Close {
	timeout := time.After(limit)
	for {
		select {
		case _, open := <-l.in:
			if !open {
				l.judge.check(l.err == nil, "%v", l.err)
				return l.closed()
			}
		case <-timeout:
			l.judge.fail("the socket is not closed after %v", limit)
		}
	}
}

// silent ends the case if a frame that is no pulse comes within d.
func (l *line[In]) silent(d time.Duration) {
	timeout := time.After(d)
	for {
		select {
		case f, open := <-l.in:
			if !open {
				l.judge.fail("the socket is closed with %+v", l.closed())
			}
			l.judge.check(l.pulse(f), "got %T, want nothing", f)
		case <-timeout:
			return
		}
	}
}
