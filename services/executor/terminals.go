package executor

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

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

// turns let one attempt at a time type into a pane.
type turns struct {
	mu   sync.Mutex
	each map[string]*turn
}

type turn struct {
	free  chan struct{} // has a token while nobody types
	users int           // who types or waits
}

// enter waits for the turn of a pane; leave ends it.
func (t *turns) enter(ctx context.Context, pane string) (leave func(), err error) {
	t.mu.Lock()
	if t.each == nil {
		t.each = map[string]*turn{}
	}
	own := t.each[pane]
	if own == nil {
		own = &turn{free: make(chan struct{}, 1)}
		own.free <- struct{}{}
		t.each[pane] = own
	}
	own.users++
	t.mu.Unlock()
	select {
	case <-own.free:
		return func() { own.free <- struct{}{}; t.drop(pane, own) }, nil
	case <-ctx.Done():
		t.drop(pane, own)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) drop(pane string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.each, pane)
	}
}
