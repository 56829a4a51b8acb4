package machine

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// Teller is a machine that knows what there is to tell of its records, for telemetry.
type Teller interface {
	// Tell appends what there is to tell of the events of a record that was decided. before
	// is the state without the record's changes, after the state with them; it changes
	// neither. detail asks for the fields that take more to find out.
	Tell(before, after *rows.Tx, rec *events.Record, detail bool, told []Told) []Told
}

// Told is an event with what it is about.
type Told struct {
	Event events.Event

	// Of events of the run, and of all with detail.
	Definition string // its name
	Created    int64  // Unix ms of the run's begin
	Run        events.RunID
	Trace      string // traceparent that the run was started with; empty: none

	// Of events of an attempt. Component and task come with detail.
	Component string
	Task      string
	Queue     string
	Runnable  events.RunnableID
	Attempt   uint32
	Decided   events.Position // of the dispatch
	Since     int64           // Unix ms of the dispatch; 0: there was none
	Late      bool            // it had ended before, as lost, and what became of it is known only now: it has no Since
	Uncertain bool            // nobody knows what became of it

	// Of calls of a receiver: what they come to, one of the words below; Runnable is the number of
	// the drain, and Since when its notice came to who calls. Empty: the event is of no such call.
	Notice string
}

// What a call of the receiver of a completion notice comes to.
const (
	NoticeDelivered = "delivered"
	NoticeRetried   = "retried"  // it failed, and another one follows
	NoticeGivenUp   = "given_up" // it failed, and none follows
)
