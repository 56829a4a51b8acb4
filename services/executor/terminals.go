package executor

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/heddle-run/heddle/shared/delivery"
)

// Terminals say what terminal.submit may type into, and how.
type Terminals struct {
	// Allow are SOCKET=SESSION: the name of a tmux server's socket or its absolute path, and a session there
	// or a prefix of sessions ending in *. None: the task is handed back to executors that may.
	Allow []string
	// Presses of Enter by the kind of a worker; see delivery.NewSubmitPolicy.
	Presses map[string]int
}

// panes are the sessions that may be typed into, by socket, and the presses.
type panes struct {
	sessions map[string][]string
	presses  delivery.SubmitPolicy
}

func newPanes(t Terminals) (*panes, error) {
	presses, err := delivery.NewSubmitPolicy(t.Presses)
	if err != nil {
		return nil, fmt.Errorf("executor: terminal presses: %w", err)
	}
	p := &panes{map[string][]string{}, presses}
	for _, allowed := range t.Allow {
		socket, session, ok := strings.Cut(allowed, "=")
		if !ok || socket == "" || session == "" {
			return nil, fmt.Errorf("executor: the terminal %q is not of the form SOCKET=SESSION", allowed)
		}
		if strings.Contains(socket, "/") && !filepath.IsAbs(socket) {
			return nil, fmt.Errorf("executor: the terminal %q: a socket is a name or an absolute path", allowed)
		}
		p.sessions[socket] = append(p.sessions[socket], session)
	}
	return p, nil
}

// may reports whether a session of a server may be typed into.
func (p *panes) may(socket, session string) bool {
	for _, pattern := range p.sessions[socket] {
		prefix, wild := strings.CutSuffix(pattern, "*")
		if pattern == session || wild && strings.HasPrefix(session, prefix) {
			return true
		}
	}
	return false
}
