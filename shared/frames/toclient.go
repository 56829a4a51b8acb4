package frames

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/wire"
)

// ToClient is a frame of the server: a closed set.
type ToClient interface {
	wire.Message
	toClient() int
}

var toClient = set[ToClient]{
	{1, "ToClientInit", func() ToClient { return &ToClientInit{} }},
	{2, "ToClientCommands", func() ToClient { return &ToClientCommands{} }},
	{3, "ToClientAckEvents", func() ToClient { return &ToClientAckEvents{} }},
	{4, "ToClientPong", func() ToClient { return &ToClientPong{} }},
	{5, "ToClientKvResponse", func() ToClient { return &ToClientKvResponse{} }},
	{6, "ToClientClose", func() ToClient { return &ToClientClose{} }},
	{7, "ToClientTunnel", func() ToClient { return &ToClientTunnel{} }},
}

// ToClientInit answers ToServerInit, once.
type ToClientInit struct {
	RunnerID     string // another one than before: what the runner had is not its any more
	LastEventIdx int64  // of the last event that was applied; -1: none
	Metadata     Terms
}

// Terms are what the server expects of a runner.
type Terms struct {
	RunnerLostThreshold int64 // ms without a socket after which attempts are lost, on both sides
	PingTimeout         int64 // ms without a frame after which the server closes the socket
	Limits              Limits
}

// Limits are what the server takes.
type Limits struct {
	MaxPayload    int64 // bytes of a frame
	MaxKvKeys     int64 // of one request
	MaxKvKey      int64 // bytes
	MaxKvValue    int64 // bytes
	MaxTunnelBody int64 // bytes of one message of a tunnel
}

// ToClientCommands are commands to the runner, ascending by index.
type ToClientCommands struct{ Commands []Command }

// Command is what a runner is to do.
type Command struct {
	Index int64
	Inner Order
}

// Order is what a command says: a closed set.
type Order interface {
	wire.Message
	order() int
}

var orders = set[Order]{
	{1, "StartTask", func() Order { return &StartTask{} }},
	{2, "StopTask", func() Order { return &StopTask{} }},
}

// StartTask starts an attempt.
type StartTask struct {
	Token            string
	Attempt          uint32 // of the step, from 1
	Task             string
	Workflow         string
	Component        string
	Input            json.RawMessage // empty: null
	Context          json.RawMessage // an object, or empty
	Deadline         int64           // Unix ms at which nobody waits for the outcome any more; 0: none
	IdempotencyKey   string          // equal for all attempts of the step
	TraceParent      string          // W3C trace context, or empty
	Heartbeat        json.RawMessage // the newest details of an attempt before, or empty
	Timeout          int64           // ms that the attempt may take once it has begun; 0: no limit
	HeartbeatTimeout int64           // ms between two heartbeats of the attempt itself; 0: no limit
}

// StopReason is why an attempt is to stop.
type StopReason string

// Reasons of StopTask. A runner passes one that it does not know on to the attempt.
const (
	StopCancelled StopReason = "cancelled"
	StopTimedOut  StopReason = "timed_out"
	StopGoingAway StopReason = "going_away" // the runner drains
	StopLost      StopReason = "lost"       // it counts as lost
	StopRequested StopReason = "requested"  // the attempt has asked for it (TaskIntent)
)

// StopTask stops an attempt; one that the runner does not run is passed.
type StopTask struct {
	Token  string
	Reason StopReason
}

// ToClientAckEvents says that events have been received.
type ToClientAckEvents struct {
	LastEventIdx int64 // the highest; all before it are received too
}

// ToClientPong answers ToServerPing. While the server reads nothing, as Kafka takes nothing, one with ts 0 comes by itself, so that the runner stays.
type ToClientPong struct {
	Ts int64 // that of the ping; 0: of none
}

// ToClientClose says that the socket is closed next, and that the runner is not to come back.
type ToClientClose struct {
	Reason string
}

// ToClientTunnel is one message of a tunnel.
type ToClientTunnel struct{ Tunnel }

func (*ToClientInit) toClient() int       { return 1 }
func (*ToClientCommands) toClient() int   { return 2 }
func (*ToClientAckEvents) toClient() int  { return 3 }
func (*ToClientPong) toClient() int       { return 4 }
func (*ToClientKvResponse) toClient() int { return 5 }
func (*ToClientClose) toClient() int      { return 6 }
func (*ToClientTunnel) toClient() int     { return 7 }

func (*StartTask) order() int { return 1 }
func (*StopTask) order() int  { return 2 }

// Fields implements wire.Message.
func (f *ToClientInit) Fields(c *wire.Codec) {
	wire.String(c, 1, "runnerId", &f.RunnerID)
	wire.Index(c, 2, "lastEventIdx", &f.LastEventIdx)
	wire.Nested(c, 3, "metadata", &f.Metadata)
}

// Fields implements wire.Message.
func (t *Terms) Fields(c *wire.Codec) {
	wire.Index(c, 1, "runnerLostThreshold", &t.RunnerLostThreshold)
	wire.Index(c, 2, "pingTimeout", &t.PingTimeout)
	wire.Nested(c, 3, "limits", &t.Limits)
}

// Fields implements wire.Message.
func (l *Limits) Fields(c *wire.Codec) {
	wire.Index(c, 1, "maxPayload", &l.MaxPayload)
	wire.Index(c, 2, "maxKvKeys", &l.MaxKvKeys)
	wire.Index(c, 3, "maxKvKey", &l.MaxKvKey)
	wire.Index(c, 4, "maxKvValue", &l.MaxKvValue)
	wire.Index(c, 5, "maxTunnelBody", &l.MaxTunnelBody)
}

// Fields implements wire.Message.
func (f *ToClientCommands) Fields(c *wire.Codec) { wire.Repeated(c, 1, "commands", &f.Commands) }

// CommandInner carries the order of a command.
type CommandInner struct{ Order Order }

// Fields implements wire.Message.
func (o *CommandInner) Fields(c *wire.Codec) { orders.fields(c, &o.Order, Order.order) }

// Fields implements wire.Message.
func (m *Command) Fields(c *wire.Codec) {
	wire.Index(c, 1, "index", &m.Index)
	inner := CommandInner{m.Inner}
	wire.Nested(c, 2, "inner", &inner)
	m.Inner = inner.Order
}

// Fields implements wire.Message.
func (t *StartTask) Fields(c *wire.Codec) {
	wire.String(c, 1, "token", &t.Token)
	wire.Int(c, 2, "attempt", &t.Attempt)
	wire.Name(c, 3, "task", &t.Task)
	wire.String(c, 4, "workflow", &t.Workflow)
	wire.Name(c, 5, "component", &t.Component)
	c.JSON(6, "input", &t.Input)
	c.JSON(7, "context", &t.Context)
	wire.Index(c, 8, "deadline", &t.Deadline)
	wire.String(c, 9, "idempotencyKey", &t.IdempotencyKey)
	wire.String(c, 10, "traceparent", &t.TraceParent)
	c.JSON(11, "heartbeat", &t.Heartbeat)
	wire.Int(c, 12, "timeout", &t.Timeout)
	wire.Int(c, 13, "heartbeatTimeout", &t.HeartbeatTimeout)
}

// Fields implements wire.Message.
func (t *StopTask) Fields(c *wire.Codec) {
	wire.String(c, 1, "token", &t.Token)
	wire.String(c, 2, "reason", &t.Reason)
}

// Fields implements wire.Message.
func (f *ToClientAckEvents) Fields(c *wire.Codec) { wire.Index(c, 1, "lastEventIdx", &f.LastEventIdx) }

// Fields implements wire.Message.
func (f *ToClientPong) Fields(c *wire.Codec) { wire.Index(c, 1, "ts", &f.Ts) }

// Fields implements wire.Message.
func (f *ToClientClose) Fields(c *wire.Codec) { wire.String(c, 1, "reason", &f.Reason) }

func (f *ToClientInit) check() error {
	if f.LastEventIdx < -1 {
		return fmt.Errorf("lastEventIdx is %d", f.LastEventIdx)
	}
	if t := f.Metadata; t.RunnerLostThreshold < 0 || t.PingTimeout < 0 || t.Limits.MaxPayload < 0 {
		return fmt.Errorf("a time or a limit is negative: %+v", t)
	}
	return bounded("runnerId", f.RunnerID, MaxName)
}

func (f *ToClientCommands) check() error {
	for i, m := range f.Commands {
		if m.Inner == nil {
			return fmt.Errorf("command %d is empty", m.Index)
		}
		if err := cmp.Or(index(m.Index), check(m.Inner)); err != nil {
			return err
		}
		if i > 0 && m.Index <= f.Commands[i-1].Index {
			return fmt.Errorf("command %d stands behind command %d", m.Index, f.Commands[i-1].Index)
		}
	}
	return nil
}

func (t *StartTask) check() error {
	return cmp.Or(bounded("token", t.Token, MaxToken), isJSON("input", t.Input), isJSON("context", t.Context), isJSON("heartbeat", t.Heartbeat))
}

func (t *StopTask) check() error { return bounded("token", t.Token, MaxToken) }

func (f *ToClientAckEvents) check() error { return index(f.LastEventIdx) }
