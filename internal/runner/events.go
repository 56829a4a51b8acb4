package runner

import "github.com/heddle-run/heddle/shared/frames"

// reported is what the runner has told the server, and that has not acknowledged.
type reported struct {
	next   int64 // index
	open   []frames.Event
	warned bool
}

// add reports something: at once, or when there is a socket.
func (e *reported) add(s *Session, r frames.Report) {
	event := frames.Event{Index: e.next, Inner: r}
	e.next++
	e.open = append(e.open, event)
	if len(e.open) > Unacknowledged && !e.warned {
		e.warned = true
		s.do(Warn{"many events are not acknowledged", int64(len(e.open))})
	}
	if s.phase == connected {
		s.send(&frames.ToServerEvents{Events: []frames.Event{event}})
	}
}

// acked forgets events up to an index.
func (e *reported) acked(last int64) {
	done := 0
	for done < len(e.open) && e.open[done].Index <= last {
		done++
	}
	clear(e.open[:done])
	if e.open = e.open[done:]; len(e.open) == 0 {
		e.open = nil
	}
	if len(e.open) <= Unacknowledged {
		e.warned = false
	}
}

// resume sends what the server has not applied again: as one message, if that is not too large.
func (e *reported) resume(s *Session, last int64) {
	e.acked(last)
	if e.next <= last { // a process that has just started under a session of an earlier one
		e.next = last + 1
	}
	for rest := e.open; len(rest) > 0; {
		n := fitting(rest, s.maxPayload)
		s.send(&frames.ToServerEvents{Events: append([]frames.Event(nil), rest[:n]...)})
		rest = rest[n:]
	}
}

// fitting is how many events fit a frame, at least one.
func fitting(all []frames.Event, most int64) int {
	size := int64(64)
	for i := range all {
		if size += weight(&all[i]); size > most && i > 0 {
			return i
		}
	}
	return len(all)
}

// weight is no less than what an event takes in a frame, but for the escapes of its texts, which are short.
func weight(e *frames.Event) int64 {
	const around = 256
	n := around + len(e.Inner.Attempt())
	switch r := e.Inner.(type) {
	case *frames.TaskState:
		if n += len(r.Result); r.Error != nil {
			n += 2*len(r.Error.Message) + len(r.Error.Type) + len(r.Error.Details)
		}
	case *frames.Heartbeat:
		n += len(r.Details)
	}
	return int64(n)
}

// keepEnds drops the history of a session that is gone, but not how attempts have ended: their tokens say
// whose they are. They get the first indexes of the next session.
func (e *reported) keepEnds() {
	var ends []frames.Event
	for _, event := range e.open {
		if state, ok := event.Inner.(*frames.TaskState); ok && state.State != frames.StateRunning {
			ends = append(ends, frames.Event{Index: int64(len(ends)), Inner: state})
		}
	}
	e.open, e.next = ends, int64(len(ends))
}
