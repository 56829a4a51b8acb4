package calls

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
)

// Call is a question with its answer, as its caller saw it.
type Call struct {
	Workflow string
	What     string        // the command's name, or Asking and the kind of a query
	ID       string        // what repetitions of a command are known by; empty: a query
	Body     []byte        // of a command
	Asked    *events.Query // nil: a command

	Began, Ended int64 // ticks that count what callers do and see, from 1; Ended is 0 while it is not answered
	Reply        events.Reply
}

// Asking begins the What of a query.
const Asking = "query "

// key names the command that a call is of: all calls of one key are repetitions.
func (c *Call) key() string { return c.Workflow + "\x00" + c.ID }

// Answers are the first answered calls of commands, by workflow and id.
type Answers map[string]*Call

// Hold holds an answered call of a command against the first one of the same
// content: repetitions get the first answer. tell is what all answers to one
// command have in common.
func (a Answers) Hold(c *Call, tell func(*Call) string) error {
	first := a[c.key()]
	if first == nil {
		a[c.key()] = c
		return nil
	}
	if x, y := tell(first), tell(c); x != y && string(first.Body) == string(c.Body) {
		return fmt.Errorf("the command %s %q of %s was answered with %s and with %s", c.What, c.ID, c.Workflow, x, y)
	}
	return nil
}

// Verdict is what all answers to one command have in common: not the number of
// the question, and not the command's id, which an answer that is made again
// after a takeover does not know.
func (c *Call) Verdict() string {
	r := c.Reply
	r.ID, r.Command = "", ""
	return ReplyText(r)
}

// ReplyText is a reply for people.
func ReplyText(r events.Reply) string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
