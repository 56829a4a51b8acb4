package tmux

import (
	"fmt"
	"strconv"
	"strings"
)

// Pane is one pane of a server.
type Pane struct {
	ID           string // %3
	Server       string // the process ID of its tmux server, whatever name of the socket that is reached by
	Session      string
	Window, Pane int  // their indices
	Current      bool // the window is the one that its session shows
	Active       bool // the pane is the one of its window that is typed into
	Dead         bool // its program has ended, and it was kept
}

const paneFormat = "#{pane_id} #{window_index} #{window_active} #{pane_index} #{pane_active} #{pane_dead} #{pid} #{session_name}"

// paneOf reads a line of paneFormat. Names of sessions may have spaces, so they are last.
func paneOf(line string) (Pane, error) {
	f := strings.SplitN(line, " ", 8)
	if len(f) < 8 {
		return Pane{}, fmt.Errorf("tmux has listed a pane as %q", line)
	}
	window, err := strconv.Atoi(f[1])
	if err != nil {
		return Pane{}, fmt.Errorf("tmux has listed a pane as %q: its window: %w", line, err)
	}
	pane, err := strconv.Atoi(f[3])
	if err != nil {
		return Pane{}, fmt.Errorf("tmux has listed a pane as %q: its index: %w", line, err)
	}
	return Pane{ID: f[0], Server: f[6], Session: f[7], Window: window, Current: f[2] == "1", Pane: pane, Active: f[4] == "1", Dead: f[5] == "1"}, nil
}

// Find is the pane that a target names, exactly: %ID, SESSION (its current window, and there the active
// pane), SESSION:WINDOW or SESSION:WINDOW.PANE, by their indices.
func Find(panes []Pane, target string) (Pane, bool) {
	for _, p := range panes {
		if p.named(target) {
			return p, true
		}
	}
	return Pane{}, false
}

func (p *Pane) named(target string) bool {
	if strings.HasPrefix(target, "%") {
		return p.ID == target
	}
	window := fmt.Sprintf("%s:%d", p.Session, p.Window)
	switch target {
	case fmt.Sprintf("%s.%d", window, p.Pane):
		return true
	case window:
		return p.Active
	case p.Session:
		return p.Current && p.Active
	}
	return false
}
