package calls

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
)

// understood are the refusals that do not look at the workflow.
var understood = map[string]bool{
	"missing_field": true, "invalid_field": true, "unknown_command": true, "conflict": true, "not_json": true, "too_deep": true, "invalid_workflow_id": true, "internal_error": true, "unknown_query": true, "quarantined": true, "too_large": true, "too_costly": true, "unknown_field": true, "expired": true, "no_loss": true,
}

// unacceptable are the refusals of what a command brings along.
var unacceptable = map[string]bool{
	"invalid_definition": true, "unknown_definition": true, "invalid_options": true, "invalid_policy": true, "invalid_input": true, "missing_context": true,
}

// account is what callers know of a workflow: the last answer that told of it.
// It is the state of the sequential specification.
type account struct {
	run    string          // "": there is none of this id
	status string          // as told; what the planner does by itself may follow
	at     events.Position // of the record that the answer was as of

	held     *[]events.Position // the records by which it was quarantined
	retrying bool               // a retry may still go on: it is not decided in one record

	inHand bool // a query was told that something is still being carried out
}

// alone is what the workflow may become without a command from one status, up to a
// record.
func (a account) alone(from string, until events.Position) []string {
	for _, at := range *a.held {
		if a.at.Before(at) && !until.Before(at) && from != "stopping" && from != "stopped" {
			return append(slices.Clone(a.next(from)), alone["paused"]...)
		}
	}
	return a.next(from)
}

// next is the same of what no loss concerns.
func (a account) next(from string) []string {
	if from == "failed" && a.retrying {
		return append(slices.Clone(alone["failed"]), alone["running"]...)
	}
	return alone[from]
}

// alone is what a workflow may become without a command, as outcomes and timers
// come in: the specification's internal steps, taken any number of times.
var alone = map[string][]string{
	"running":   {"running", "idle", "failed", "completed"},
	"idle":      {"idle"},
	"paused":    {"paused", "failed"},
	"failed":    {"failed"},
	"stopping":  {"stopping", "stopped"},
	"stopped":   {"stopped"},
	"completed": {"completed"},
	"cancelled": {"cancelled"},

	"cancelling": {"cancelling", "cancelled"},
}

// becomes is what a command that is obeyed makes of a workflow, by what it was:
// the states from which the planner may have gone on in the same record. What is
// not here is refused or changes nothing.
var becomes = map[string]map[string][]string{
	"input":        {"running": {"running"}, "idle": {"running"}, "paused": {"paused"}, "failed": {"failed"}},
	"signal":       {"running": {"running"}, "idle": {"running"}, "paused": {"paused"}, "failed": {"failed"}},
	"pause":        {"running": {"paused"}, "idle": {"paused"}},
	"resume":       {"paused": {"running"}, "stopped": {"running"}},
	"stop":         {"running": {"stopping"}, "idle": {"stopping"}, "paused": {"stopping"}, "failed": {"stopping"}},
	"cancel":       {"running": {"cancelling"}, "idle": {"cancelling"}, "paused": {"cancelling"}, "failed": {"cancelling"}, "stopping": {"cancelling"}, "stopped": {"cancelling"}},
	"retry":        {"running": {"running"}, "idle": {"running"}, "paused": {"paused"}, "failed": {"failed", "running"}},
	"skip":         {"running": {"running"}, "idle": {"running"}, "paused": {"paused"}, "failed": {"failed", "running"}},
	"migrate":      {"idle": {"idle"}, "paused": {"paused"}, "failed": {"failed"}, "stopped": {"stopped"}},
	"set_policies": {"running": {"running"}, "idle": {"idle"}, "paused": {"paused"}, "failed": {"failed"}, "stopping": {"stopping"}, "stopped": {"stopped"}},

	"checkpoint": {"running": {"running"}, "idle": {"idle"}, "paused": {"paused"}, "failed": {"failed"}, "stopping": {"stopping"}, "stopped": {"stopped"}},
	"complete":   {"running": {"running"}, "paused": {"paused"}, "failed": {"failed"}, "stopping": {"stopping"}, "stopped": {"stopped"}},
	"fail":       {"running": {"running"}, "paused": {"paused"}, "failed": {"failed"}, "stopping": {"stopping"}, "stopped": {"stopped"}},
	"heartbeat":  {"running": {"running"}, "paused": {"paused"}, "failed": {"failed"}, "stopping": {"stopping"}, "stopped": {"stopped"}},
	"keep":       {"running": {"running"}, "paused": {"paused"}, "failed": {"failed"}, "stopping": {"stopping"}, "stopped": {"stopped"}},
}

// idles are the states in which a command changes nothing and says so.
var idles = map[string][]string{
	"pause": {"paused"}, "resume": {"running", "idle"}, "stop": {"stopping", "stopped"}, "cancel": {"cancelling", "cancelled"},
	"heartbeat": {"running", "paused", "failed", "stopping", "stopped"},
	"keep":      {"running", "paused", "failed", "stopping", "stopped"},
	"migrate":   {"idle", "paused", "failed", "stopped"},
}

// retryNamed is a retry of runnables that it names: others may have failed.
const retryNamed = "retry of some"

// refused is what a refusal is of.
func (c *Call) refused() string {
	if c.What == "retry" && bytes.Contains(c.Body, []byte(`"runnables"`)) {
		return retryNamed
	}
	return c.What
}

// refuses are the states in which a refusal is lawful.
var refuses = map[string]func(what, status string) bool{
	"stopped": func(what, status string) bool {
		return status == "stopping" || status == "stopped" && what != "resume"
	},
	"closed": func(what, status string) bool {
		return status == "completed" || (status == "cancelling" || status == "cancelled") && what != "cancel"
	},
	"invalid_state": func(_, status string) bool { return status == "failed" },
	"not_closed": func(_, status string) bool {
		return status != "completed" && status != "cancelling" && status != "cancelled"
	},
	"nothing_to_retry": func(what, status string) bool {
		return slices.Contains(open, status) && (status != "failed" || what == retryNamed)
	},
	"nothing_to_skip": func(_, status string) bool { return slices.Contains(open, status) },
	"incompatible": func(what, status string) bool {
		return what == "migrate" && status != "running" && status != "stopping"
	},
	"busy":            func(what, _ string) bool { return what == "migrate" }, // it may be at work in every state
	"already_started": func(what, _ string) bool { return what == "start" },
	"attempt_closed":  func(string, string) bool { return true },
	"store_full":      func(what, status string) bool { return what == "keep" && len(becomes[what][status]) > 0 },
	"unknown_signal":  func(_, status string) bool { return slices.Contains(open, status) },
}

// open are the states that take commands to go on.
var open = []string{"running", "idle", "paused", "failed"}

// after is what is known after a call, if its answer is possible before it.
func (a account) after(c *Call) (account, bool) {
	code := ""
	if c.Reply.Refusal != nil {
		code = c.Reply.Refusal.Code
	}
	switch {
	case understood[code]:
		return a, true
	case unacceptable[code]: // what came with a start, or for a run
		return a, (c.What == "start") == (a.run == "")
	case code == "not_found":
		return a, a.run == ""
	case c.What == "delete" && code == "":
		return a.deleted(c)
	case c.What == "start" && code == "":
		told, ok := a.told(c)
		return told, ok && a.run == "" && a.at.Before(told.at) && slices.Contains(a.alone("running", told.at), told.status)
	case a.run == "":
		return a, false
	case strings.HasPrefix(c.What, Asking):
		return a.asked(c)
	}
	return a.commanded(c, code)
}

// asked is a read: it tells of the workflow as it was when it was asked, or
// later (E6).
func (a account) asked(c *Call) (account, bool) {
	told, ok := a.told(c)
	switch {
	case c.What != Asking+"workflow":
		return a, true
	case !ok || told.run != a.run || told.at.Before(a.at):
		return a, false
	case told.at == a.at: // the same account, and what is known of it beside
		a.retrying = a.retrying && told.inHand
		return a, told.status == a.status
	}
	told.retrying = a.retrying && told.inHand
	return told, slices.Contains(a.alone(a.status, told.at), told.status)
}

func (a account) deleted(c *Call) (account, bool) {
	if c.Reply.Result == events.ResultNoChange {
		return a, a.run == ""
	}
	var body events.DeleteWorkflow
	if json.Unmarshal(c.Body, &body) != nil {
		return a, false
	}
	return account{at: a.at, held: a.held}, a.run != "" && (body.Force || a.may(a.at, func(s string) bool { return s == "completed" || s == "cancelling" || s == "cancelled" }))
}

// commanded is a decided command to a workflow that is there. Its answer tells
// what has become of it.
func (a account) commanded(c *Call, code string) (account, bool) {
	told, ok := a.told(c)
	if !ok || told.run != a.run || !a.at.Before(told.at) {
		return a, false
	}
	told.retrying = told.status == "failed" && (a.retrying || c.What == "retry" && code == "") // that it is in hand, queries tell
	return told, a.may(told.at, func(before string) bool {
		next := []string{before}
		switch {
		case code != "":
			if lawful := refuses[code]; lawful == nil || !lawful(c.refused(), before) {
				return false
			}
		case c.Reply.Result == events.ResultNoChange:
			if !slices.Contains(idles[c.What], before) {
				return false
			}
		default:
			next = becomes[c.What][before]
		}
		return slices.ContainsFunc(next, func(s string) bool { return slices.Contains(a.alone(s, told.at), told.status) })
	})
}

// may reports whether something holds in a state that the workflow can come to alone, up to
// a record.
func (a account) may(until events.Position, holds func(string) bool) bool {
	return slices.ContainsFunc(a.alone(a.status, until), holds)
}

// told is what an answer says of the workflow.
func (a account) told(c *Call) (account, bool) {
	told, ok := c.told()
	told.held = a.held
	return told, ok
}

// Told is the position of the record that an answer is as of; false: it names none.
func (c *Call) Told() (events.Position, bool) {
	told, ok := c.told()
	return told.at, ok
}

// told is what an answer says of the workflow.
func (c *Call) told() (account, bool) {
	var body struct {
		Run, Status, Position string
		InHand                bool `json:"in_hand"`
	}
	if len(c.Reply.Body) == 0 || json.Unmarshal(c.Reply.Body, &body) != nil || body.Run == "" {
		return account{}, false
	}
	at, err := events.ParsePosition(body.Position)
	return account{run: body.Run, status: body.Status, at: at, inHand: body.InHand}, err == nil && (!body.InHand || body.Status == "failed")
}
