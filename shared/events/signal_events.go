package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// SignalReceived keeps a signal, until a runnable takes it: by the same record, if one
// waits for it.
type SignalReceived struct {
	Signal  uint64 // its number in the run
	Name    string
	Key     string // empty: none
	Value   json.RawMessage
	Expires int64 // Unix ms
	Held    bool  // the workflow was paused or had failed
	By      By
}

func (*SignalReceived) number() int { return 57 }

// Fields implements wire.Message.
func (e *SignalReceived) Fields(c *wire.Codec) {
	wire.Int(c, 1, "signal", &e.Signal)
	wire.String(c, 2, "name", &e.Name)
	wire.String(c, 3, "key", &e.Key)
	c.JSON(4, "value", &e.Value)
	wire.Int(c, 5, "expires", &e.Expires)
	c.Bool(6, "held", &e.Held)
	wire.Nested(c, 7, "by", &e.By)
}

// SignalTaken completes a runnable with the value of a signal.
type SignalTaken struct {
	Runnable RunnableID
	Fact     FactID
	Signal   uint64
}

func (*SignalTaken) number() int { return 58 }

// Fields implements wire.Message.
func (e *SignalTaken) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "fact", &e.Fact)
	wire.Int(c, 3, "signal", &e.Signal)
}

// SignalExpired drops a signal that nobody has taken in time.
type SignalExpired struct{ Signal uint64 }

func (*SignalExpired) number() int { return 59 }

// Fields implements wire.Message.
func (e *SignalExpired) Fields(c *wire.Codec) { wire.Int(c, 1, "signal", &e.Signal) }

// SignalAwaited makes a runnable wait for a signal.
type SignalAwaited struct {
	Runnable RunnableID
	Key      string // empty: none
	Until    int64  // Unix ms of its timeout; 0: it has none
	Due      int64  // Unix ms of its timer; 0: it has none
}

func (*SignalAwaited) number() int { return 60 }

// Fields implements wire.Message.
func (e *SignalAwaited) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.String(c, 2, "key", &e.Key)
	wire.Int(c, 3, "until", &e.Until)
	wire.Int(c, 4, "due", &e.Due)
}

// SilenceAwaited makes a runnable wait until another component has been silent.
type SilenceAwaited struct {
	Runnable RunnableID
	For      int64 // ms
	Due      int64 // Unix ms, if it stays silent
}

func (*SilenceAwaited) number() int { return 61 }

// Fields implements wire.Message.
func (e *SilenceAwaited) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "for", &e.For)
	wire.Int(c, 3, "due", &e.Due)
}

// TimerMoved changes when the timer of a waiting runnable is due: the silence that it
// waits for was broken, or it has been reminded.
type TimerMoved struct {
	Runnable RunnableID
	Due      int64  // Unix ms; 0: it has none any more
	Reminded uint64 // so often by now
}

func (*TimerMoved) number() int { return 62 }

// Fields implements wire.Message.
func (e *TimerMoved) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "due", &e.Due)
	wire.Int(c, 3, "reminded", &e.Reminded)
}
