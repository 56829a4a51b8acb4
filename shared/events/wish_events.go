package events

import "github.com/heddle-run/heddle/shared/wire"

// AlarmSet is when a runnable goes on, should its open attempt sleep.
type AlarmSet struct {
	Runnable RunnableID
	At       int64 // Unix ms; 0: it was taken back
}

func (*AlarmSet) number() int { return 120 }

// Fields implements wire.Message.
func (e *AlarmSet) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "at", &e.At)
}

// RunnableParked closes an attempt that sleeps: another one goes on when its alarm comes. It counts neither as a failure nor as a retry.
type RunnableParked struct {
	Runnable RunnableID
	Due      int64 // Unix ms
}

func (*RunnableParked) number() int { return 121 }

// Fields implements wire.Message.
func (e *RunnableParked) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "due", &e.Due)
}
