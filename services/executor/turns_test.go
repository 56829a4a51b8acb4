package executor

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/delivery"
)

func TestAPaneIsTypedIntoByOneAttemptAtATime(t *testing.T) {
	t.Parallel()
	var turns turns
	leave, err := turns.enter(t.Context(), "%1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := turns.enter(ctx, "%1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second one at the same time: %v", err)
	}
	other, err := turns.enter(t.Context(), "%2")
	if err != nil {
		t.Fatal(err)
	}
	other()
	leave()
	again, err := turns.enter(t.Context(), "%1")
	if err != nil {
		t.Fatal(err)
	}
	again()
	if len(turns.each) > 0 {
		t.Errorf("%d turns are remembered", len(turns.each))
	}
}

// severalCommands are as many characters as tmux is given in three commands, and an agent echoes well within the time
// that a delivery has to be confirmed in.
const severalCommands = 9_000

// A pane is one pane by whatever name of its server it is reached: two texts that are typed at a time would be taken as one.
func TestAPaneHasOneTurnByAllNamesOfItsServer(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	m.shows("agents", "ready")
	other := m.dir + "/./s"
	h, err := newTerminalSubmit(&Config{Slots: 4, Terminals: Terminals{Allow: []string{m.socket + "=agents", other + "=agents"}}}, m.stopping)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{m.socket: strings.Repeat("a", severalCommands), other: strings.Repeat("b", severalCommands)}
	var both sync.WaitGroup
	for socket, text := range texts { // order: they are typed at the same time
		s := m.submission(h, map[string]any{"target": "agents", "text": text, "worker": "claude"}, submitNote{})
		s.server.Socket, s.Socket = socket, socket
		both.Go(func() {
			if v, err := s.deliver(m.ctx); err != nil || v.Reason != delivery.SendConfirmed {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
	both.Wait()
	took := strings.Fields(m.took())
	slices.Sort(took)
	if want := []string{texts[m.socket], texts[other]}; !slices.Equal(took, want) {
		t.Errorf("the agent took %d texts: %.80q", len(took), took)
	}
}

// Executors do not know of each other's attempts, and types one after the other all the same, by whatever name they reach the server.
func TestAPaneIsTypedIntoByOneExecutorAtATime(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	m.shows("agents", "ready")
	var want []string
	var all sync.WaitGroup
	for i, socket := range []string{m.socket, m.dir + "/./s", m.socket} {
		h, err := newTerminalSubmit(&Config{Slots: 4, Terminals: Terminals{Allow: []string{m.socket + "=agents", m.dir + "/./s=agents"}}}, m.stopping)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat(string(rune('a'+i)), severalCommands)
		want = append(want, text)
		s := m.submission(h, map[string]any{"target": "agents", "text": text, "worker": "claude"}, submitNote{})
		s.server.Socket, s.Socket = socket, socket
		all.Go(func() {
			if v, err := s.deliver(m.ctx); err != nil || v.Reason != delivery.SendConfirmed {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
	all.Wait()
	took := strings.Fields(m.took())
	slices.Sort(took)
	if !slices.Equal(took, want) {
		t.Errorf("the agent took %d texts: %.80q", len(took), took)
	}
}

// An executor that dies at a pane holds up no other one: the test's program is one that locks the pane and is killed.
func TestADeadExecutorLocksNoPane(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	m.shows("agents", "ready")
	id := m.tmux("display-message", "-p", "-t", "agents", "#{pane_id}")
	holder := exec.CommandContext(t.Context(), os.Args[0])
	holder.Env = append(os.Environ(), lockVariable+"="+m.socket+" "+id)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("%q, %v", line, err)
	}
	s := m.submission(m.handler(), map[string]any{"target": "agents", "text": "hello"}, submitNote{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*lockEvery)
	defer cancel()
	if v, err := s.deliver(ctx); !errors.Is(err, context.DeadlineExceeded) || m.took() != "" {
		t.Errorf("it types while another one does: %+v, %v, %q", v, err, m.took())
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if v, err := s.deliver(m.ctx); err != nil || v.Reason != delivery.SendConfirmed {
		t.Errorf("behind its death: %+v, %v", v, err)
	}
	if err := holder.Wait(); err == nil {
		t.Error("it was not killed")
	}
}
