package events

import "github.com/heddle-run/heddle/shared/wire"

// TimerArmed makes a runnable wait.
type TimerArmed struct {
	Runnable RunnableID
	Due      int64 // Unix ms
}

func (*TimerArmed) number() int { return 16 }

// Fields implements wire.Message.
func (e *TimerArmed) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "due", &e.Due)
}

// TimerFired ends a sleep and produces its fact.
type TimerFired struct {
	Runnable RunnableID
	Fact     FactID
	Edited   bool // its value is what a retry gave the runnable in place of what arrived
}

func (*TimerFired) number() int { return 17 }

// Fields implements wire.Message.
func (e *TimerFired) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "fact", &e.Fact)
	c.Bool(3, "edited", &e.Edited)
}
