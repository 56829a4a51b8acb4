package executor

import (
	"errors"
	"strconv"
	"syscall"
	"testing"

	"github.com/heddle-run/heddle/sdk/executor"
)

// told delivers a text to an agent that is to reply, and returns how its work is found.
func (m *terminal) told(h *terminalSubmit) executor.Ref {
	m.t.Helper()
	s := m.submission(h, map[string]any{"target": "agents", "text": "hello"}, submitNote{})
	v, err := s.deliver(m.ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	answer, err := s.end(m.ctx, v)
	if err != nil || answer.Kind != executor.KindTold || answer.ID == "" {
		m.t.Fatalf("the answer is %+v, %v", answer, err)
	}
	return executor.Ref{Key: "a key", ID: answer.ID}
}

// phase is how the work of an agent is doing.
func (m *terminal) phase(h *terminalSubmit, ref executor.Ref) executor.Phase {
	m.t.Helper()
	states, err := h.Recover(m.ctx, []executor.Ref{ref, {Key: "another", ID: "no place"}})
	if err != nil || len(states) != 2 || states[1].Phase != executor.PhaseUnknown {
		m.t.Fatalf("%+v, %v", states, err)
	}
	return states[0].Phase
}

// ended ends the server, and waits until it has.
func (m *terminal) ended() {
	m.t.Helper()
	pid, err := strconv.Atoi(m.tmux("display-message", "-p", "-t", "agents", "#{pid}"))
	if err != nil {
		m.t.Fatal(err)
	}
	m.tmux("kill-server")
	m.eventually("the server has ended", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

// An agent that cannot reply any more is known to be gone: its pane is, or the command in it has ended, or its server is another one.
func TestAnAgentThatIsGoneIsUnknown(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(m *terminal){
		"the pane is closed": func(m *terminal) {
			m.tmux("split-window", "-d", "-t", "agents", "cat") // or the server would end with it
			m.tmux("kill-pane", "-t", "agents:0.0")
		},
		"the command has ended": func(m *terminal) {
			m.tmux("set-option", "-w", "-t", "agents", "remain-on-exit", "on")
			m.tmux("run-shell", "kill -9 #{pane_pid}")
			m.eventually("the agent ends", func() bool { return m.tmux("display-message", "-p", "-t", "agents", "#{pane_dead}") == "1" })
		},
		"there is no server": func(m *terminal) {
			m.ended()
			m.t.Cleanup(func() { m.tmux("new-session", "-d", "-s", "other", "cat") }) // for the end of the test
		},
		"the server is another one": func(m *terminal) {
			m.ended()
			m.tmux("new-session", "-d", "-s", "agents", "cat")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTerminal(t)
			m.shows("agents", "ready")
			h := m.handler()
			ref := m.told(h)
			if p := m.phase(h, ref); p != executor.PhaseRunning {
				t.Fatalf("the phase of an agent that lives is %d", p)
			}
			end(m)
			if p := m.phase(h, ref); p != executor.PhaseUnknown {
				t.Errorf("its phase is %d", p)
			}
		})
	}
}
