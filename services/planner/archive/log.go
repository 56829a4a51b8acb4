package archive

import (
	"bytes"
	"container/list"
	"encoding/json"
	"slices"

	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// Statuses as summaries name them.
const statusRunning = "running"

// Log is a run as its Keeper knows it, with what is to be written of it.
type Log struct {
	Workflow string
	Run      events.RunID // zero where it is not known
	Resolved bool         // Run and At are as the store has them, or as they will be
	Lacks    bool         // its beginning is in no store and no journal

	At      uint64          // entries that the store has
	Last    events.Position // of the last of them that is known: what is read again up to it is there
	Pending []Entry

	Seen  events.Position // of the first record that was seen of it
	Named events.RunID    // which run it is by its own records; zero: they do not say

	Started *Started // nil: its beginning was not at hand
	Created int64    // Unix ms, likewise
	Updated int64    // of the last record
	Status  string   // by its events; empty: they do not tell
	Closed  bool     // nothing follows but words about it
	Rests   bool     // it will be deleted some day if nothing happens
	Report  bool     // its planner waits to hear that it is archived
	Deleted bool     // the deployment has it no more

	Saved string // the status that the store's snapshot shows; empty: there is none

	taken    events.Position // the position of the last record
	held     int             // bytes that the Keeper counts for Pending; an entry has at least one
	outcomes uint64
	strategy definition.Checkpoint
	due      bool
	place    *list.Element // among the Keeper's
}

// Started is what is remembered of how a run was started.
type Started struct {
	Definition events.DefinitionRef
	Labels     json.RawMessage
}

// startedOf shares no memory with the event: a run is remembered for long, and values of an event are parts of its record, which
// has the workflow's inputs and contexts too.
func startedOf(e *events.WorkflowStarted) *Started {
	return &Started{events.DefinitionRef{Name: e.Name, Version: e.Version, Digest: e.Digest}, bytes.Clone(e.Labels)}
}

// Bytes is how many there are of what is to be written.
func (l *Log) Bytes() int { return l.held }

// Stale reports whether the store has more of the run than was taken, as where it is read again: what is known of it is older than its snapshot.
func (l *Log) Stale() bool { return !l.Deleted && l.taken.Before(l.Last) }

// Through is the position of the last record that is to be written.
func (l *Log) Through() events.Position {
	if n := len(l.Pending); n > 0 {
		return l.Pending[n-1].Position
	}
	return events.Position{}
}

// take learns from events what there is to do about the run; due: it is to be written.
func (l *Log) take(list []events.Event, all bool) (due bool) {
	for _, e := range list {
		switch e := e.(type) {
		case *events.WorkflowCompleted:
			l.Status, l.Closed = "completed", true
		case *events.WorkflowCancelled:
			l.Status, l.Closed = "cancelled", true
		case *events.RetentionArmed:
			l.Rests, l.Report = true, true
		case *events.ArchiveAwaited:
			l.Rests, l.Report, l.Named = true, true, e.Run
		default:
			l.turn(e)
		}
	}
	return l.Closed || l.Rests || all && l.atCheckpoint(list)
}

// turn follows the status of a run that is not closed.
func (l *Log) turn(e events.Event) {
	status := ""
	switch e.(type) {
	case *events.WorkflowIdle:
		status = "idle"
	case *events.WorkflowFailed:
		status = "failed"
	case *events.WorkflowPaused:
		status = "paused"
	case *events.WorkflowStopping:
		status = "stopping"
	case *events.WorkflowStopped:
		status = "stopped"
	case *events.WorkflowCancelling:
		status = "cancelling"
	case *events.WorkflowResumed, *events.WorkflowRevived:
		status = statusRunning
	case *events.InputAccepted:
		if l.Status == "idle" {
			status = statusRunning
		}
	}
	if status != "" {
		l.Status, l.Rests, l.Report = status, false, false
	}
}

// atCheckpoint reports whether the run's strategy has a checkpoint behind these events.
func (l *Log) atCheckpoint(list []events.Event) bool {
	asked, rested, outcomes := planner.Checkpoints(list)
	before := l.outcomes
	l.outcomes += outcomes
	switch l.strategy.Strategy {
	case definition.EveryN:
		n := uint64(max(l.strategy.N, 1))
		return asked || l.outcomes/n > before/n
	case definition.OnComplete:
		return asked || rested
	case definition.Manual:
		return asked
	default:
		return true
	}
}

// tells reports whether events belong to a run's log: those do not that say what became of it behind its end.
func tells(list []events.Event) bool {
	for _, e := range list {
		switch e.(type) {
		case *events.WorkflowArchived, *events.RowsRemoved, *events.DefinitionPinned:
		default:
			return true
		}
	}
	return false
}

// Alive reports whether something among what is to be written, or what it is cannot be told, does not come of a run that is over.
func Alive(pending []Entry) bool {
	for i := range pending {
		rec, err := pending[i].Record()
		if err != nil || slices.ContainsFunc(rec.Events, alive) {
			return true
		}
	}
	return false
}

// alive reports whether an event is none of those that come of runs that are over, too.
func alive(e events.Event) bool {
	switch e.(type) {
	case *events.CommandRefused, *events.CommandIgnored, *events.CheckpointRequested, *events.RetentionArmed, *events.ArchiveAwaited, *events.WorkflowArchived,
		*events.NoticeReported, *events.NoticeAccepted, *events.NoticesOver, *events.InputRejected, *events.InputForwarded, *events.EffectFailed,
		*events.WorkflowQuarantined, *events.QuarantineEnded, *events.DeliveryConfirmedLate, *events.RowsRemoved, *events.DefinitionPinned:
		return false
	}
	return true
}

// archived reports whether the planner has heard that the run is archived.
func archived(list []events.Event) bool {
	for _, e := range list {
		if _, is := e.(*events.WorkflowArchived); is {
			return true
		}
	}
	return false
}
