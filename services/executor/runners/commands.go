package runners

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

// errorPause follows a poll that has failed.
const errorPause = 250 * time.Millisecond

// commanded takes a record of runner-commands, which may be for another executor, or for a socket that is no more.
func (s *Server) commanded(r *kgo.Record) {
	err := kafka.CheckFormat(r, events.RunnerVersion)
	var m *events.RunnerCommands
	if err == nil {
		m, err = events.DecodeRunnerCommands(r.Value)
	}
	if err != nil {
		s.log.Warn("commands to a runner cannot be read", "partition", r.Partition, "offset", r.Offset, "error", err)
		return
	}
	if m.To.Executor != s.id {
		return
	}
	if m.To.Number == 0 {
		s.disowned(m)
		return
	}
	if one := s.find(m.To.Number); one != nil {
		one.command(m)
	} else if m.Welcome != nil {
		s.orphan(m)
	}
}

// disowned closes all sockets of a pool that has taken them for gone.
func (s *Server) disowned(m *events.RunnerCommands) {
	s.mu.Lock()
	all := s.listed(nil)
	s.mu.Unlock()
	for _, one := range all {
		if one.entity() == m.Pool && one.serves() {
			one.dismiss(m.Close)
		}
	}
}

// orphan tells a pool that the socket is gone whose runner it welcomes.
func (s *Server) orphan(m *events.RunnerCommands) {
	gone := &events.RunnerReport{Connection: m.To, Runner: m.Runner, Session: m.Welcome.Session, Closed: "it was gone before the pool had answered"}
	s.say(s.reports, m.Pool, gone, func(_ *kgo.Record, err error) {
		if err != nil {
			s.log.Warn("a pool does not hear that a runner's socket is gone", "pool", m.Pool, "runner", m.Runner, "error", err)
		}
	})
}

// command does what the pool wants.
func (s *session) command(m *events.RunnerCommands) {
	s.mu.Lock()
	if m.Greet != "" {
		s.mu.Unlock()
		s.redirected(m.Greet)
		return
	}
	left := m.Welcome != nil && s.phase == gone && s.runner == ""
	if m.Welcome != nil && s.phase == greeting {
		s.welcome(m)
	} else if len(m.Commands) > 0 && s.phase == serving {
		s.order(m.Commands)
	}
	s.mu.Unlock()
	if left { // it is about to be forgotten
		s.server.orphan(m)
	}
	if m.Close != "" {
		s.dismiss(m.Close)
	}
}

// welcome begins the service of a runner: it has a session. The caller holds s.mu.
func (s *session) welcome(m *events.RunnerCommands) {
	s.phase, s.runner, s.session, s.hello = serving, m.Runner, m.Welcome.Session, nil
	s.nextEvent, s.tells.count, s.tells.acked = m.Welcome.Events, m.Welcome.Events, m.Welcome.Events
	s.server.metrics.welcome.Observe((s.server.now() - s.greeted).Seconds())
	l := s.server.config.Limits
	s.enqueue(&frames.ToClientInit{
		RunnerID: m.Runner, LastEventIdx: int64(m.Welcome.Events) - 1,
		Metadata: frames.Terms{
			RunnerLostThreshold: m.Welcome.Threshold, PingTimeout: s.server.config.Times.Ping.Milliseconds(),
			Limits: frames.Limits{
				MaxPayload: l.MaxPayload, MaxKvKeys: frames.MaxKvKeys, MaxKvKey: frames.MaxKvKey, MaxKvValue: frames.MaxKvValue, MaxTunnelBody: frames.MaxTunnelBody,
			},
		},
	})
	s.order(m.Commands)
	s.stirred()
}

// order sends commands that are new. The caller holds s.mu.
func (s *session) order(all []events.RunnerCommand) {
	f := &frames.ToClientCommands{}
	for i := range all {
		c := &all[i]
		if c.Index < s.nextCommand {
			continue
		}
		s.nextCommand = c.Index + 1
		o, err := orderOf(c)
		if err != nil {
			s.server.log.Error("a command to a runner is passed over", "pool", s.pool, "runner", s.key, "command", c.Index, "error", err)
			continue
		}
		f.Commands = append(f.Commands, frames.Command{Index: int64(c.Index), Inner: o})
	}
	if len(f.Commands) > 0 {
		s.enqueue(f)
	}
}

// orderOf is a command as the runner is given it. Values of users are as they were.
func orderOf(c *events.RunnerCommand) (frames.Order, error) {
	token := events.TokenText(c.Token)
	if len(c.Start) == 0 {
		return &frames.StopTask{Token: token, Reason: frames.StopReason(c.Stop)}, nil
	}
	var t events.Task
	if err := wire.Unmarshal(c.Start, &t); err != nil {
		return nil, fmt.Errorf("decoding its task: %w", err)
	}
	of, err := events.PeekToken(c.Token)
	if err != nil {
		return nil, fmt.Errorf("reading its token: %w", err)
	}
	return &frames.StartTask{
		Token: token, Attempt: t.Attempt, Task: t.Task, Workflow: of.Workflow, Component: t.Component, Input: t.Input, Context: t.Context,
		Deadline: t.Deadline, IdempotencyKey: t.IdempotencyKey, TraceParent: t.TraceParent, Heartbeat: t.Heartbeat,
		Timeout: t.Timeout, HeartbeatTimeout: t.Silence,
	}, nil
}

// dismiss closes a socket because the pool wants it. A runner that is not to come back is told so before.
func (s *session) dismiss(why string) {
	c, known := frames.CloseOf(why)
	if !known {
		s.server.log.Error("a pool closes a runner's socket for a reason that is none", "pool", s.pool, "runner", s.key, "reason", why)
		c = frames.CloseUnavailable
	}
	if c.Final() {
		s.send(&frames.ToClientClose{Reason: why})
	}
	s.shut(c)
}
