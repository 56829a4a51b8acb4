package runners

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

// Messages of tunnels go through the executor as they are (decision 0104): it remembers none, and no request. The id of a request says
// which gateway has it. What is lost with a socket or an executor is sent again by the runner and the gateway.

// tunnelEnds are where the records begin that are for this executor: it is given none before it has a socket.
func (s *Server) tunnelEnds(ctx context.Context) error {
	topic := s.names.Tunnels()
	ends, err := kadm.NewClient(s.reports).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("asking for the ends of %s: %w", topic, err)
	}
	p := kafka.PartitionFor([]byte(s.id), int32(len(ends[topic])))
	end, ok := ends.Lookup(topic, p)
	if !ok {
		return fmt.Errorf("%s has no partition %d", topic, p)
	}
	s.tunnels, err = kafka.NewTailFrom(s.config.Kafka, topic, map[int32]int64{p: end.Offset})
	return err
}

// polled hands over all records of a tail until ctx ends.
func (s *Server) polled(ctx context.Context, tail *kgo.Client, what string, take func(*kgo.Record)) {
	reading := kafka.Reading{What: what, Logger: s.log}
	for ctx.Err() == nil {
		fetches := tail.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		if _, failed := reading.Failed(tail, fetches); failed {
			timer := time.NewTimer(errorPause)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
			}
		}
		fetches.EachRecord(take)
	}
}

// carried takes a record of tunnels, which may be for somebody else with the same partition.
func (s *Server) carried(r *kgo.Record) {
	if string(r.Key) != s.id {
		return
	}
	err := kafka.CheckFormat(r, events.TunnelVersion)
	var m *events.TunnelRecord
	var t *frames.Tunnel
	if err == nil {
		m, err = events.DecodeTunnelRecord(r.Value)
	}
	if err == nil && (m.Up || m.Executor != s.id) {
		return // a runner may name anybody as the gateway that it answers
	}
	if err == nil {
		t, err = frames.DecodeTunnel(m.Message)
	}
	if err != nil {
		s.log.Warn("a message to a runner cannot be read", "partition", r.Partition, "offset", r.Offset, "error", err)
		return
	}
	if one := s.find(m.Number); one == nil || !one.carry(m, t) {
		s.missed(m, t)
	}
}

// carry sends a message to the runner, if it is the one that is meant and reads what it is sent.
func (s *session) carry(m *events.TunnelRecord, t *frames.Tunnel) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != serving || s.runner != m.Runner || s.entity() != m.Pool {
		return false
	}
	if s.out.bytes > s.server.config.Limits.OutBytes/2 || len(s.out.frames) > s.server.config.Limits.OutFrames/2 {
		return false // there must be room for what is not sent again
	}
	return s.enqueue(&frames.ToClientTunnel{Tunnel: *t})
}

// missed tells a gateway that a message did not get to the runner.
func (s *Server) missed(m *events.TunnelRecord, t *frames.Tunnel) {
	if _, is := t.Inner.(*frames.RequestAbort); is {
		return // nobody waits for it
	}
	s.up(&events.TunnelRecord{Connection: m.Connection, Pool: m.Pool, Runner: m.Runner, Up: true, Missed: t.RequestID}, t.RequestID, func(err error) {
		if err != nil { // the gateway asks the pool after a while
			s.log.Debug("a gateway does not hear that a message did not get to its runner", "error", err)
		}
	})
}

// up sends a record to the gateway of a request; false: its id has none.
func (s *Server) up(m *events.TunnelRecord, request string, done func(error)) bool {
	address, ok := events.TunnelAddress(request)
	if !ok {
		return false
	}
	r := kafka.Keyed(s.names.Tunnels(), []byte(address), wire.Marshal(m), kafka.TunnelFormat...)
	s.passing.Produce(context.Background(), r, func(_ *kgo.Record, err error) { done(err) })
	return true
}

// passed passes a message of a runner on to the gateway of its request. One that Kafka does not take closes the socket, on the next of
// which the runner sends it again.
func (s *session) passed(t *frames.Tunnel) {
	m := &events.TunnelRecord{Connection: s.of, Pool: s.entity(), Runner: s.runner, Up: true, Message: wire.Marshal(t)}
	size := int64(len(m.Message) + overhead)
	s.carrying.Add(size)
	s.server.held.Add(size)
	sent := s.server.up(m, t.RequestID, func(err error) {
		s.carried(size)
		if err != nil {
			s.server.log.Warn("a message of a tunnel is refused; the socket of its runner is closed", "pool", s.pool, "runner", s.key, "error", err)
			s.shut(frames.CloseUnavailable)
		}
	})
	if !sent {
		s.carried(size)
		s.send(&frames.ToClientTunnel{Tunnel: frames.Tunnel{RequestID: t.RequestID, Inner: &frames.RequestAbort{Reason: "no gateway has such a request"}}})
	}
}

// carried notes that Kafka has so many bytes of messages of tunnels.
func (s *session) carried(size int64) {
	s.carrying.Add(-size)
	s.server.held.Add(-size)
	s.stirred()
}
