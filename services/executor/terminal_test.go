package executor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/adapter"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/services/executor/tmux"
	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
)

// submitted is how an attempt of terminal.submit ended.
type submitted struct {
	result  string
	typ     string // of its error
	message string
	final   bool // no further attempt is to follow
	later   bool // it completes by its token
	note    submitNote
}

// handler may type into the sessions of m that begin with "agents".
func (m *terminal) handler() *terminalSubmit {
	m.t.Helper()
	h, err := newTerminalSubmit(&Config{Slots: 4, Terminals: Terminals{Allow: []string{m.socket + "=agents*"}}}, m.stopping)
	if err != nil {
		m.t.Fatal(err)
	}
	return h
}

// submission is an attempt that follows one that has told a note.
func (m *terminal) submission(h *terminalSubmit, params map[string]any, before submitNote) *submission {
	m.t.Helper()
	params["socket"] = m.socket
	input, err := json.Marshal(params)
	if err != nil {
		m.t.Fatal(err)
	}
	a := attempt("terminal.submit", string(input))
	if a.Spec.Heartbeat, err = json.Marshal(before); err != nil {
		m.t.Fatal(err)
	}
	s, err := h.submission(workOf(a))
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

// workOf is what an adapter is given of an attempt.
func workOf(a *worker.Attempt) (context.Context, executor.Work) {
	ctx := task.WithSource(context.Background(), &adapter.Source{Attempt: a})
	return ctx, executor.Work{Key: "a key", Task: a.Spec.Task, Input: a.Spec.Input, Laid: a.Spec.Laid}
}

// submit runs an attempt.
func (m *terminal) submit(params map[string]any, before submitNote) submitted {
	m.t.Helper()
	return m.end(m.ctx, m.submission(m.handler(), params, before))
}

func (m *terminal) end(ctx context.Context, s *submission) submitted {
	m.t.Helper()
	v, err := s.deliver(ctx)
	var answer executor.Answer
	if err == nil {
		answer, err = s.end(ctx, v)
	}
	out := submitted{result: string(answer.Result), note: s.told, later: answer.Kind == executor.KindTold}
	if e, ok := errors.AsType[*worker.TaskError](err); ok {
		out.typ, out.message, out.final = e.Type, e.Message, e.NonRetryable
	} else if err != nil && !out.later {
		m.t.Fatal(err)
	}
	return out
}

func TestWorkIsHandedToAnAgent(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	m.shows("agents", "ready")
	got := m.submit(map[string]any{"target": "agents", "text": "write\r\n the tests; “all” of\nthem;\x1b[A {token}\\;"}, submitNote{})
	if want := (submitNote{Delivery: delivery.Notified, Reason: delivery.SendConfirmed}); !got.later || got.note != want {
		t.Errorf("%+v", got)
	}
	token := attempt("terminal.submit", "{}").Token()
	if want := "write  the tests; “all” of them; [A " + token + "\\;\n"; m.took() != want {
		t.Errorf("the agent took %q, want %q", m.took(), want)
	}
	got = m.submit(map[string]any{"target": "%0", "text": "no answer", "reply": false, "worker": " Claude"}, submitNote{})
	if got.result != `{"pane":"%0","reason":"send_confirmed"}` || !strings.HasSuffix(m.took(), "\nno answer\n") {
		t.Errorf("%+v, the agent took %q", got, m.took())
	}
	long := strings.Repeat("long; ", 1000)
	if got := m.submit(map[string]any{"target": "agents:0.0", "text": long}, submitNote{}); !got.later {
		t.Errorf("a long text: %+v", got)
	}
	m.eventually("the agent has the long text", func() bool { return strings.HasSuffix(m.took(), "\n"+long+"\n") })
}

// CL06
func TestAnAgentThatShowsThatItWorksHasConfirmed(t *testing.T) {
	t.Parallel()
	m := newTerminal(t, "works")
	m.shows("agents", "ready")
	if got := m.submit(map[string]any{"target": "agents", "text": "do it"}, submitNote{}); got.note.Reason != delivery.SendConfirmedActiveTask || !got.later {
		t.Errorf("%+v", got)
	}
	// It works, so it takes nothing more: CL03 for who cannot wait.
	got := m.submit(map[string]any{"target": "agents", "text": "and that", "direct": true}, submitNote{})
	if got.typ != "preflight_failed:pane_not_ready" || !got.final || m.took() != "do it\n" {
		t.Errorf("%+v, the agent took %q", got, m.took())
	}
}

// The first Enter is ignored: the second press of the policy delivers.
func TestTheSecondPressIsANudge(t *testing.T) {
	t.Parallel()
	m := newTerminal(t, "ignore=1")
	m.shows("agents", "ready")
	if got := m.submit(map[string]any{"target": "agents", "text": "do it", "worker": "codex"}, submitNote{}); !got.later || got.note.Reason != delivery.SendConfirmed {
		t.Errorf("%+v", got)
	}
	if m.took() != "do it\n" {
		t.Errorf("the agent took %q", m.took())
	}
}

// CL07, and what follows: each attempt types once, what was not taken is taken back, and the count is that of the notes.
func TestUnconfirmedDeliveriesAreCountedInTheJournal(t *testing.T) {
	t.Parallel()
	m := newTerminal(t, "ignore=3")
	m.shows("agents", "ready")
	work := func() map[string]any { return map[string]any{"target": "agents", "text": "do it", "worker": "claude"} }
	got := m.submit(work(), submitNote{})
	if want := (submitNote{delivery.Pending, delivery.SendUnconfirmed, 1}); got.typ != "send_unconfirmed" || got.final || got.note != want {
		t.Fatalf("first: %+v", got)
	}
	got = m.submit(work(), got.note)
	if got.typ != "send_unconfirmed" || got.final || got.note.Unconfirmed != 2 {
		t.Fatalf("second: %+v", got)
	}
	got = m.submit(work(), got.note)
	if got.typ != "unconfirmed_after_max_retries" || !got.final || got.note.Unconfirmed != 0 {
		t.Fatalf("third: %+v", got)
	}
	got = m.submit(work(), got.note) // as after `heddle retry`
	if !got.later || got.note.Reason != delivery.SendConfirmed || m.took() != "do it\n" {
		t.Errorf("%+v, the agent took %q", got, m.took())
	}
}

// An attempt that is cancelled before its text was taken leaves nothing for the Enter of the next one.
func TestACancelledAttemptTakesItsTextBack(t *testing.T) {
	t.Parallel()
	m := newTerminal(t, "ignore=10")
	m.shows("agents", "ready")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	s := m.submission(m.handler(), map[string]any{"target": "agents", "text": "do it", "presses": 10}, submitNote{})
	go func() {
		_, err := s.deliver(ctx)
		ended <- err
	}()
	m.shows("agents", "do it")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	m.eventually("the prompt is empty", func() bool {
		now, err := m.server.Look(t.Context(), "agents")
		return err == nil && !strings.Contains(now.Text(), "do it")
	})
}

// A program that reads nothing has confirmed nothing.
func TestAProgramThatHangsConfirmsNothing(t *testing.T) {
	t.Parallel()
	m := newTerminal(t, "stuck")
	got := m.submit(map[string]any{"target": "agents", "text": "do it", "attempts": 1, "direct": true}, submitNote{})
	if got.typ != "unconfirmed_after_max_retries" || !got.final {
		t.Errorf("%+v", got)
	}
}

// An Enter that the terminal echoes confirms nothing: the program has not read it.
func TestAnEchoConfirmsNothing(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	m.tmux("new-session", "-d", "-s", "agents-cooked", "tail", "-f", "/dev/null")
	got := m.submit(map[string]any{"target": "agents-cooked", "text": "do it"}, submitNote{})
	if got.typ != "send_unconfirmed" || got.final {
		t.Errorf("%+v", got)
	}
	got = m.submit(map[string]any{"target": "agents-cooked", "text": "do it", "ready": `\$$`, "direct": true}, submitNote{})
	if got.typ != "preflight_failed:pane_not_ready" {
		t.Errorf("with what it shows when it is ready: %+v", got)
	}
}

func TestWhatAProgramShowsMayConfirm(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	m.shows("agents", "ready")
	for range 2 { // the second time it is there already
		got := m.submit(map[string]any{"target": "agents", "text": "do it", "confirm": "(?m)^taken$", "reply": false}, submitNote{})
		if got.note.Reason != delivery.SendConfirmed {
			t.Errorf("%+v", got)
		}
	}
	if got := m.submit(map[string]any{"target": "agents", "text": "do it", "confirm": "never"}, submitNote{}); got.typ != "send_unconfirmed" {
		t.Errorf("what never shows: %+v", got)
	}
}

// CL02, and panes that are there and take nothing.
func TestTargetsThatCannotBeDeliveredTo(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	m.tmux("set-option", "-g", "remain-on-exit", "on")
	m.tmux("new-session", "-d", "-s", "agents-dead", "true")
	m.tmux("new-session", "-d", "-s", "private", "cat")
	m.eventually("the program has ended", func() bool { return m.tmux("display-message", "-p", "-t", "agents-dead", "#{pane_dead}") == "1" })
	private := m.tmux("display-message", "-p", "-t", "private", "#{pane_id}")
	for _, c := range []struct{ target, leader, want, says string }{
		{"", "", "missing_target", "params have no target"},
		{"agents-none", "", "target_resolution_failed:unresolved_target", `has no pane "agents-none"`},
		{"agen", "", "target_resolution_failed:unresolved_target", "tmux list-panes"}, // tmux itself would take it for a prefix
		{"agents-dead", "", "preflight_failed:pane_dead", "agents-dead"},
		{"private", "", "terminal_forbidden", "private"},
		{private, "", "terminal_forbidden", "private"},
		{"agents", private, "terminal_forbidden", "private"},
	} {
		got := m.submit(map[string]any{"target": c.target, "leader": c.leader, "text": "do it"}, submitNote{})
		if got.typ != c.want || !got.final || !strings.Contains(got.message, c.says) {
			t.Errorf("%q: %+v, want %s that says: %s", c.target, got, c.want, c.says)
		}
	}
	// DF05: without a later time a leader that is not there fails it at once.
	for _, leader := range []string{"agents-lead", "agents-dead"} {
		if got := m.submit(map[string]any{"target": "agents", "leader": leader, "text": "do it", "direct": true}, submitNote{}); got.typ != "leader_missing" || !got.final {
			t.Errorf("DF05, %s: %+v", leader, got)
		}
	}
	if m.took() != "" {
		t.Errorf("the agent took %q", m.took())
	}
}

func TestInputsThatAreRefused(t *testing.T) {
	h, err := newTerminalSubmit(&Config{Slots: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Dispatch(workOf(attempt("terminal.submit", `{"text": "x"}`))); !errors.Is(err, executor.ErrHandBack) || !strings.Contains(err.Error(), "--allow-terminal") {
		t.Errorf("without a terminal that is allowed: %v", err)
	}
	h.panes.sessions = map[string][]string{"default": {"*"}}
	for input, want := range map[string]string{
		`{}`: events.ErrorInvalidInput, `{"text": " \n"}`: events.ErrorInvalidInput, `{"text": "x", "attempts": -1}`: events.ErrorInvalidInput,
		`{"text": "x", "presses": -1}`: events.ErrorInvalidInput, `{"text": "x", "ready": "("}`: events.ErrorInvalidInput,
		`{"text": "x", "active": "` + strings.Repeat("x", 1025) + `"}`: events.ErrorInvalidInput,
		`{"text": "` + strings.Repeat("x", 64<<10+1) + `"}`:            events.ErrorInvalidInput,
		`{"text": "x", "pane": 1}`:                                     events.ErrorInvalidInput,
		`{"text": "x", "socket": "other"}`:                             "terminal_forbidden",
	} {
		if _, err := h.Dispatch(workOf(attemptOf("terminal.submit", input, false))); failureType(err) != want {
			t.Errorf("%.40s: %v, want %s", input, err, want)
		}
	}
	for _, allow := range []string{"", "x", "=x", "x=", "a/b=x"} {
		if _, err := newPanes(Terminals{Allow: []string{allow}}); err == nil {
			t.Errorf("%q is allowed", allow)
		}
	}
	if _, err := newPanes(Terminals{Presses: map[string]int{"x": -1}}); err == nil {
		t.Error("-1 presses are accepted")
	}
}

// Without a server there are no panes.
func TestNoServerHasNoPanes(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	all, err := (tmux.Server{Socket: m.socket + "-none"}).Panes(t.Context())
	if err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := m.server.Look(t.Context(), "%77"); !errors.Is(err, tmux.ErrGone) {
		t.Errorf("a look at a pane that is gone: %v", err)
	}
}
