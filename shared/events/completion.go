package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// Completion is the notice that a workflow has drained, as receivers get it.
type Completion struct {
	ID         string          `json:"id"` // the same whenever it is sent
	Workflow   string          `json:"workflow"`
	Run        RunID           `json:"run"`
	Drain      uint64          `json:"drain"`  // its number in the run, from 1
	Status     string          `json:"status"` // one of Statuses
	Definition DefinitionRef   `json:"definition"`
	Labels     json.RawMessage `json:"labels,omitempty"`
	Counts     Counts          `json:"counts"`
	Failure    *Failure        `json:"failure"`
	Results    json.RawMessage `json:"results"`               // the newest of each output; null where they are too large
	All        json.RawMessage `json:"all_results,omitempty"` // every one of each output so far; not there where they are too many
	ResultsURL string          `json:"results_url,omitempty"` // where one of these is left out: where it is
	Args       json.RawMessage `json:"args,omitempty"`
	Time       Stamp           `json:"time"`
	Position   Position        `json:"position"` // of the record that it follows from
}

// NoticeTrouble says that a workflow's receiver does not take a notice.
type NoticeTrouble struct {
	Drain    uint64    `json:"drain"`
	State    string    `json:"state"` // failing: it is tried again; given_up
	Attempts uint32    `json:"attempts"`
	Error    TaskError `json:"error"` // of the last attempt
}

// Fields implements wire.Message.
func (n *NoticeTrouble) Fields(c *wire.Codec) {
	wire.Int(c, 1, "drain", &n.Drain)
	wire.String(c, 2, "state", &n.State)
	wire.Int(c, 3, "attempts", &n.Attempts)
	wire.Nested(c, 4, "error", &n.Error)
}
