package runners

import (
	"cmp"
	"errors"

	"github.com/coder/websocket"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

var errKind = errors.New("it is a text frame where a binary one is wanted, or the other way round")

// decode reads a frame.
func (s *session) decode(kind websocket.MessageType, b []byte) (frames.ToServer, error) {
	if (kind == websocket.MessageBinary) != (s.encoding == frames.Binary) {
		return nil, errKind
	}
	return frames.DecodeToServer(s.encoding, b)
}

// receive deals with a frame, and reports whether b is kept.
func (s *session) receive(kind websocket.MessageType, b []byte) (kept bool) {
	s.server.metrics.in.Inc()
	s.mu.Lock()
	first, closing := s.phase == opened, s.closing != nil
	s.mu.Unlock()
	if closing {
		return false
	}
	f, err := s.decode(kind, b)
	if first {
		s.begin(f, err)
		return false
	}
	s.spoke()
	if err != nil {
		s.server.undecodable(s, err)
		return false
	}
	switch f := f.(type) {
	case *frames.ToServerInit: // a second one counts for nothing
	case *frames.ToServerPing:
		s.send(&frames.ToClientPong{Ts: f.Ts})
	case *frames.ToServerEvents:
		s.reported(f.Events)
	case *frames.ToServerAckCommands:
		s.tell(func(m *events.RunnerReport) { m.Received = max(m.Received, uint64(f.LastCommandIdx)+1) })
	case *frames.ToServerStopping:
		s.stopping()
	case *frames.ToServerKvRequest:
		return s.asked(f)
	case *frames.ToServerTunnel:
		s.passed(&f.Tunnel)
	}
	return false
}

// begin takes the first frame.
func (s *session) begin(f frames.ToServer, err error) {
	init, is := f.(*frames.ToServerInit)
	switch {
	case err != nil:
		s.server.undecodable(s, err)
		s.shut(frames.CloseInvalidPacket)
	case !is:
		s.shut(frames.CloseInvalidInitialPacket)
	default:
		s.greet(init)
	}
}

// greet asks the pool for the session of the runner.
func (s *session) greet(f *frames.ToServerInit) {
	hello := &events.RunnerHello{
		Key: s.key, Name: f.Name, Version: f.Version, Slots: f.TotalSlots, Instance: f.Instance, Metadata: f.Metadata, Address: s.server.config.Address,
	}
	if f.LastCommandIdx != nil {
		hello.Received = uint64(*f.LastCommandIdx + 1)
	}
	for _, p := range f.PrepopulateTaskNames {
		hello.Names = append(hello.Names, events.TaskName{Name: p.Key, Metadata: p.Value})
	}
	s.mu.Lock()
	s.phase, s.name, s.greeted, s.hello = greeting, f.Name, s.server.now(), hello
	s.mu.Unlock()
	entity := events.PoolOf(cmp.Or(events.ShardOfRunner(s.pool, f.RunnerID), s.pool))
	s.shard.Store(&entity)
	s.sayHello(hello)
}

// redirected greets the shard of the pool to which the runner belongs. It stays there: no shard sends it on again.
func (s *session) redirected(to string) {
	_, err := events.ParsePoolID(to)
	s.mu.Lock()
	if err != nil || s.phase != greeting || s.hello.Sent {
		s.mu.Unlock()
		return
	}
	hello := *s.hello
	hello.Sent = true
	s.hello = &hello
	s.shard.Store(&to)
	s.mu.Unlock()
	s.sayHello(&hello)
}

func (s *session) sayHello(hello *events.RunnerHello) {
	m := &events.RunnerReport{Connection: s.of, Hello: hello}
	s.server.say(s.server.passing, s.entity(), m, func(_ *kgo.Record, err error) {
		if err != nil {
			s.server.log.Warn("a runner's greeting does not reach its pool; its socket is closed", "pool", s.pool, "runner", s.key, "error", err)
			s.shut(frames.CloseUnavailable)
		}
	})
}

// spoke notes that a runner which was silent is so no more.
func (s *session) spoke() {
	s.mu.Lock()
	silent := s.silent
	s.silent = false
	s.mu.Unlock()
	if silent {
		s.tell(func(m *events.RunnerReport) { m.Silent, m.Heard = false, true })
	}
}

// asked passes a request for keys on, and reports whether it is kept.
func (s *session) asked(f *frames.ToServerKvRequest) (kept bool) {
	if err := f.Inner.Check(); err != nil {
		s.send(&frames.ToClientKvResponse{RequestID: f.RequestID, Error: err})
		return false
	}
	kv := s.server.config.KV
	if kv == nil {
		s.send(&frames.ToClientKvResponse{RequestID: f.RequestID, Error: &frames.KvError{
			Code: frames.KvUnavailable, Message: "this executor has no store of keys",
		}})
		return false
	}
	kv.Request(s.socket(), f, func(answer *frames.ToClientKvResponse) { s.send(answer) })
	return true
}

// undecodable notes a frame that cannot be read. The log has some of them, whoever sends how many.
func (s *Server) undecodable(of *session, err error) {
	s.metrics.undecodable.Inc()
	if passed, told := s.unread.tell(s.now()); told {
		s.log.Warn("a frame of a runner cannot be read and is passed over", "pool", of.pool, "runner", of.key, "error", err, "others", passed)
	}
}
