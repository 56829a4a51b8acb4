package executor

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-run/heddle/services/executor/tmux"
)

// agentVariable makes the test's program the agent of a terminal: its value is the directory that they share.
const agentVariable = "HEDDLE_TEST_AGENT"

// lockVariable makes it an executor that has locked a pane: its value is the path of the socket and the pane's ID.
const lockVariable = "HEDDLE_TEST_LOCK"

func TestMain(m *testing.M) {
	if at := os.Getenv(lockVariable); at != "" {
		socket, pane, _ := strings.Cut(at, " ")
		if _, err := lockPane(context.Background(), socket, pane); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("locked")
		select {}
	}
	if dir := os.Getenv(agentVariable); dir != "" {
		if err := (&agent{dir: dir}).run(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// agent behaves like the prompt of a coding agent: it echoes what is typed, and takes it at Enter. What it has
// taken is in the file "took", a line each.
type agent struct {
	dir    string
	ignore int  // so many presses of Enter do nothing
	works  bool // it shows that it works on what it has taken
	line   []rune
}

// run plays what the words say. "busy" and "stuck" wait for the test to write to the pipe "go".
func (g *agent) run(words []string) error {
	stty := exec.CommandContext(context.Background(), "stty", "raw", "-echo")
	stty.Stdin = os.Stdin
	if err := stty.Run(); err != nil {
		return fmt.Errorf("stty: %w", err)
	}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "ignore":
			n, err := strconv.Atoi(value)
			if err != nil {
				return err
			}
			g.ignore = n
		case "works":
			g.works = true
		case "busy", "stuck":
			if name == "busy" {
				fmt.Print("Working (12s, esc to interrupt)")
			}
			if _, err := os.ReadFile(filepath.Join(g.dir, "go")); err != nil {
				return err
			}
			fmt.Print("\x1b[2J\x1b[H")
		}
	}
	fmt.Print("ready\r\n> ")
	in := bufio.NewReader(os.Stdin)
	for {
		r, _, err := in.ReadRune()
		if err != nil {
			return err
		}
		if err := g.key(r); err != nil {
			return err
		}
	}
}

func (g *agent) key(r rune) error {
	switch {
	case r == '\r' && g.ignore > 0:
		g.ignore--
	case r == '\r' && len(g.line) > 0:
		line := string(g.line)
		g.line = nil
		if err := appendTo(filepath.Join(g.dir, "took"), line+"\n"); err != nil {
			return err
		}
		shown := "\r\ntaken\r\n> "
		if g.works {
			shown += "\r\nWorking (0s, Esc to interrupt)"
		}
		fmt.Print(shown)
	case r == 0x7f && len(g.line) > 0:
		g.line = g.line[:len(g.line)-1]
		fmt.Print("\b \b")
	case r >= ' ' && r != 0x7f:
		g.line = append(g.line, r)
		fmt.Print(string(r))
	}
	return nil
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	return f.Close()
}

// longest is how long a test with a terminal may take: what waits longer does so for ever.
const longest = 2 * time.Minute

// terminal is a tmux server of a test, with the session "agents".
type terminal struct {
	t        testing.TB
	ctx      context.Context // ends when the test has taken too long
	dir      string
	socket   string
	server   tmux.Server
	stopping chan struct{} // of its executors
}

// newTerminal starts a server whose one pane has an agent.
func newTerminal(t testing.TB, words ...string) *terminal {
	t.Helper()
	if err := tmux.Available(); err != nil {
		if os.Getenv("HEDDLE_TMUX") == "required" {
			t.Fatal(err)
		}
		t.Skipf("without tmux nothing is typed into terminals: %v", err)
	}
	dir := t.TempDir()
	m := &terminal{t: t, dir: dir, socket: filepath.Join(dir, "s"), stopping: make(chan struct{})}
	if len(m.socket) > 100 {
		t.Fatalf("the path of the socket is too long: %s", m.socket)
	}
	m.server.Socket = m.socket
	if err := syscall.Mkfifo(filepath.Join(dir, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	t.Cleanup(cancel)
	m.ctx = ctx
	m.tmux(append([]string{"new-session", "-d", "-x", "100", "-y", "20", "-s", "agents"}, m.agent(words...)...)...)
	t.Cleanup(func() { m.tmux("kill-server") })
	return m
}

// agent is the command of an agent.
func (m *terminal) agent(words ...string) []string {
	return append([]string{"env", agentVariable + "=" + m.dir, os.Args[0]}, words...)
}

// tmux runs tmux on the server and returns what it prints.
func (m *terminal) tmux(args ...string) string {
	m.t.Helper()
	cmd := exec.CommandContext(m.ctx, "tmux", append([]string{"-u", "-f", "/dev/null", "-S", m.socket}, args...)...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// shows waits until a pane shows a text.
func (m *terminal) shows(pane, text string) {
	m.t.Helper()
	m.eventually("the pane shows "+text, func() bool {
		s, err := m.server.Look(m.ctx, pane)
		return err == nil && strings.Contains(s.Text(), text)
	})
}

func (m *terminal) eventually(what string, is func() bool) {
	m.t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); {
		if time.Now().After(end) {
			m.t.Fatalf("not within 20 s: %s", what)
		}
		if err := pause(m.ctx, 10*time.Millisecond); err != nil {
			m.t.Fatal(err)
		}
	}
}

// freed lets an agent that is busy go on.
func (m *terminal) freed() {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, "go"), nil, 0); err != nil {
		m.t.Fatal(err)
	}
}

// took is what the agents have taken.
func (m *terminal) took() string {
	m.t.Helper()
	b, err := os.ReadFile(filepath.Join(m.dir, "took"))
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return string(b)
}
