package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/services/executor/tmux"
	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
)

// submitParams is the input of terminal.submit.
type submitParams struct {
	Socket  string `json:"socket"`  // name or path of the tmux server's socket; "default"
	Target  string `json:"target"`  // the pane: %ID, SESSION, SESSION:WINDOW or SESSION:WINDOW.PANE
	Text    string `json:"text"`    // what is typed; {token} in it is the attempt's token
	Worker  string `json:"worker"`  // the kind of program in the pane, for the presses
	Presses *int   `json:"presses"` // of Enter; by the kind of worker

	Leader   string `json:"leader"`   // a pane that must be there before anything is typed
	Direct   bool   `json:"direct"`   // fail rather than wait for a leader, or for a target that is busy
	Reply    *bool  `json:"reply"`    // the attempt is completed later by its token; true
	Attempts int    `json:"attempts"` // unconfirmed deliveries, until the last one is a failure for good; 3

	Ready   string `json:"ready"`   // regular expression that the pane shows when it takes input
	Active  string `json:"active"`  // that it shows while it works
	Confirm string `json:"confirm"` // that it shows once more when it has taken input
}

const (
	usualSocket   = "default"
	usualAttempts = 3
	// usualActive is what Claude Code and Codex show while they work.
	usualActive = "(?i)esc to interrupt"

	tokenPlaceholder = "{token}"
	maxSubmit        = 64 << 10 // bytes of a text
	maxPattern       = 1 << 10  // bytes of a regular expression
)

// submission is one attempt of terminal.submit.
type submission struct {
	submitParams
	task    *terminalSubmit
	token   string // of the attempt
	server  tmux.Server
	text    string
	presses int

	ready, active, confirm *regexp.Regexp // ready and confirm may be nil

	told        submitNote // the newest that the journal has, or is to have
	notes       int        // told by this attempt
	unconfirmed int        // deliveries before this one
	pane        string     // its ID, once the target is resolved
	serverID    string     // of the pane's server: its process ID
}

// submitNote is what an attempt tells with its heartbeat: of what state the delivery is. It is
// durable, and the next attempt gets it, however the attempt ends.
type submitNote struct {
	Delivery    delivery.State  `json:"delivery"`
	Reason      delivery.Reason `json:"reason"`
	Unconfirmed int             `json:"unconfirmed,omitempty"` // deliveries in a row
}

func (t *terminalSubmit) submission(ctx context.Context, w executor.Work) (*submission, error) {
	s := &submission{task: t, token: task.Token(ctx)}
	if err := parametersOf(w, &s.submitParams); err != nil {
		return nil, err
	}
	s.defaults()
	s.server.Socket = s.Socket
	if _, ok := t.panes.sessions[s.Socket]; !ok {
		return nil, refuse(errorTerminalForbidden, "the tmux server %q is not in the executor's list of allowed terminals", s.Socket)
	}
	if err := s.check(); err != nil {
		return nil, refuse(events.ErrorInvalidInput, "terminal.submit: %v", err)
	}
	if details, ok := task.LastHeartbeat[json.RawMessage](ctx); ok {
		s.told = noteOf(details)
	}
	s.unconfirmed = s.told.Unconfirmed
	return s, nil
}

func (p *submitParams) defaults() {
	if p.Socket == "" {
		p.Socket = usualSocket
	}
	if p.Attempts == 0 {
		p.Attempts = usualAttempts
	}
	if p.Active == "" {
		p.Active = usualActive
	}
	if p.Reply == nil {
		reply := true
		p.Reply = &reply
	}
}

// check reads the parameters that are not taken as they are.
func (s *submission) check() (err error) {
	s.text = keys(strings.ReplaceAll(s.Text, tokenPlaceholder, s.token))
	switch {
	case strings.TrimSpace(s.text) == "":
		return fmt.Errorf("text is missing")
	case len(s.text) > maxSubmit:
		return fmt.Errorf("text has %d bytes, the limit is %d", len(s.text), maxSubmit)
	case s.Attempts < 1:
		return fmt.Errorf("attempts is %d", s.Attempts)
	}
	policy := s.task.panes.presses
	if s.Presses != nil {
		if policy, err = delivery.NewSubmitPolicy(map[string]int{s.Worker: *s.Presses}); err != nil {
			return err
		}
	}
	s.presses = policy.Presses(s.Worker)
	if s.ready, err = pattern("ready", s.Ready); err != nil {
		return err
	}
	if s.active, err = pattern("active", s.Active); err != nil {
		return err
	}
	s.confirm, err = pattern("confirm", s.Confirm)
	return err
}

// pattern is a regular expression; nil where none is given.
func pattern(name, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxPattern {
		return nil, fmt.Errorf("%s has %d bytes, the limit is %d", name, len(text), maxPattern)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return re, nil
}

// keys is a text as it is typed: new lines, and whatever else a terminal would take for a key, are spaces.
func keys(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// noteOf is what an earlier attempt has told. What is no note of ours was told by the agent, which has had its work.
func noteOf(details json.RawMessage) submitNote {
	var n submitNote
	if json.Unmarshal(details, &n) != nil || n.Unconfirmed < 0 {
		return submitNote{}
	}
	return n
}

// note tells of a verdict, once until it is another one.
func (s *submission) note(ctx context.Context, v delivery.Verdict, unconfirmed int) error {
	n := submitNote{v.State, v.Reason, unconfirmed}
	if n == s.told {
		return nil
	}
	if err := task.Heartbeat(context.WithoutCancel(ctx), n); err != nil { // also of an attempt that ends
		return err
	}
	s.told = n
	s.notes++
	return nil
}
