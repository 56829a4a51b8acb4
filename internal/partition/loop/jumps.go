package loop

import (
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
)

// PositionError refuses an event about inputs that vanish which no owner writes:
// replay quarantines its record, and the position stays as it was.
type PositionError struct {
	Log   events.Source
	Event events.Event
	Why   string
}

func (e *PositionError) Error() string {
	return fmt.Sprintf("%s of source %d: %s", events.Name(e.Event), e.Log, e.Why)
}

// truncated moves an input log to where it may be new.
func (p *Processor) truncated(e *events.InputLogTruncated, at events.Position) error {
	bad := func(why string) error { return &PositionError{e.Log, e, why} }
	l, why := p.jumping(e.Log, e.Generation)
	switch {
	case why != "":
		return bad(why)
	case e.Expected < 0 || e.Resume < 0: // Resume is behind Expected if the topic was made anew
		return bad("no offset is negative")
	}
	l.jump(at, e.Generation, e.Resume)
	return nil
}

// lostInputs moves an input log behind what is gone.
func (p *Processor) lostInputs(e *events.InputLost, at events.Position) error {
	bad := func(why string) error { return &PositionError{e.Log, e, why} }
	l, why := p.jumping(e.Log, e.Generation)
	switch {
	case why != "":
		return bad(why)
	case e.From < 0 || e.To < 0:
		return bad("no offset is negative")
	case e.To <= e.From:
		return bad("what it says is lost is nothing")
	case e.To < l.Row.Next:
		return bad("the position would go back")
	}
	l.jump(at, e.Generation, e.To)
	return nil
}

// jumping is the input log that an event moves to the next generation, or why it
// cannot.
func (p *Processor) jumping(s events.Source, generation uint32) (*InputLog, string) {
	if !slices.Contains(Inputs[:], s) {
		return nil, "it has no input log"
	}
	l := &p.inputs[s]
	if generation != l.Row.Generation+1 {
		return nil, fmt.Sprintf("generation %d cannot follow %d", generation, l.Row.Generation)
	}
	return l, ""
}

// WhatVanished says which records of an input log are gone.
func WhatVanished(e events.Event) string {
	switch e := e.(type) {
	case *events.InputLost:
		return fmt.Sprintf("%s, offsets %d to %d are gone unread", e.Reason, e.From, e.To-1)
	case *events.InputLogTruncated:
		return fmt.Sprintf("%s, it was read up to offset %d", e.Reason, e.Expected)
	}
	return ""
}

// GoOn makes the reading of an input log go on elsewhere, and says so, by the word of
// an operator if there is one. No checkpoint may know of it before the journal does,
// nor of the old place after.
func (p *Processor) GoOn(s events.Source, e events.Event, next int64, word *events.Command) {
	l := &p.inputs[s]
	l.Next, l.Last, l.Generation = next, 0, l.Row.Generation+1
	p.record(e, word)
}
