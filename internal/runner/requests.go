package runner

import (
	"slices"
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

// requests are questions about keys that have no answer yet, oldest first.
type requests struct {
	last uint64 // id
	open []request
}

type request struct {
	frame *frames.ToServerKvRequest
	until time.Time
	sent  bool
}

// Request asks for keys; Answer follows, once, unless Forget comes before. It returns the number of the
// request.
func (s *Session) Request(now time.Time, token string, inner frames.KvRequest) uint64 {
	q := &s.requests
	q.last++
	r := request{frame: &frames.ToServerKvRequest{RequestID: q.last, Token: token, Inner: inner}, until: now.Add(s.times.Kv)}
	if s.phase == over {
		s.do(Answer{Request: q.last, Err: ErrOver})
		return q.last
	}
	if s.phase == connected {
		r.sent = true
		s.send(r.frame)
	}
	q.open = append(q.open, r)
	return q.last
}

// Forget says that nobody waits for the answer to a request.
func (s *Session) Forget(id uint64) {
	s.requests.open = slices.DeleteFunc(s.requests.open, func(r request) bool { return r.frame.RequestID == id })
}

func (q *requests) answered(s *Session, f *frames.ToClientKvResponse) {
	for i, r := range q.open {
		if r.frame.RequestID == f.RequestID && r.sent {
			q.open = slices.Delete(q.open, i, i+1)
			s.do(Answer{Request: f.RequestID, Response: f})
			return
		}
	}
}

// resume sends what has waited for a socket.
func (q *requests) resume(s *Session) {
	for i := range q.open {
		if r := &q.open[i]; !r.sent {
			r.sent = true
			s.send(r.frame)
		}
	}
}

// reject ends the requests that are meant.
func (q *requests) reject(s *Session, err error, meant func(request) bool) {
	q.open = slices.DeleteFunc(q.open, func(r request) bool {
		if meant(r) {
			s.do(Answer{Request: r.frame.RequestID, Err: err})
			return true
		}
		return false
	})
}

// broken ends what was sent: to send it again might do it twice.
func (q *requests) broken(s *Session) {
	q.reject(s, ErrKvUnknown, func(r request) bool { return r.sent })
}

func (q *requests) expire(s *Session, now time.Time) {
	q.reject(s, ErrKvTimeout, func(r request) bool { return !now.Before(r.until) })
}

func (q *requests) next() time.Time {
	if len(q.open) == 0 {
		return time.Time{}
	}
	return q.open[0].until
}
