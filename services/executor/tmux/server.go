package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Server is a tmux server by its socket: a name (tmux -L), or an absolute path (tmux -S).
type Server struct{ Socket string }

// ErrGone is of a pane that is not there any more, or whose server is not.
var ErrGone = errors.New("the pane is gone")

const (
	// commandTimeout bounds one run of tmux: a server that hangs must not hold a slot for ever.
	commandTimeout = 10 * time.Second
	// chunk is how many bytes are typed with one command: a command of tmux has at most 16 KiB.
	chunk = 4 << 10
)

// Available says what is wrong with tmux on this machine; nil: it is there.
func Available() error {
	if _, err := exec.LookPath("tmux"); err != nil {
		return fmt.Errorf("tmux cannot be run: %w", err)
	}
	return nil
}

// Panes are all panes of the server; none where no server runs.
func (s Server) Panes(ctx context.Context) ([]Pane, error) {
	out, err := s.run(ctx, "list-panes", "-a", "-F", paneFormat)
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var panes []Pane
	for line := range strings.Lines(out) {
		p, err := paneOf(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		panes = append(panes, p)
	}
	return panes, nil
}

// Path is that of the server's socket, as the server has it: the same by whatever name it is reached.
func (s Server) Path(ctx context.Context, pane string) (string, error) {
	out, err := s.run(ctx, "display-message", "-p", "-t", pane, "#{socket_path}")
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(out, "\n")
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("tmux says that the path of its socket is %q", path)
	}
	return path, nil
}

// Look is what a pane shows at the moment.
func (s Server) Look(ctx context.Context, pane string) (Screen, error) {
	out, err := s.run(ctx, "display-message", "-p", "-t", pane, screenFormat, ";", "capture-pane", "-p", "-t", pane)
	if err != nil {
		return Screen{}, err
	}
	return screenOf(out)
}

// Type types a text into a pane as it is. It must have no control characters: those are keys.
func (s Server) Type(ctx context.Context, pane, text string) error {
	for len(text) > 0 {
		n := min(len(text), chunk)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		if _, err := s.run(ctx, "send-keys", "-t", pane, "-l", "--", literal(text[:n])); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// literal is a text as an argument: at its end a semicolon would end the command of tmux.
func literal(text string) string {
	if rest, ok := strings.CutSuffix(text, ";"); ok {
		return rest + `\;`
	}
	return text
}

// Enter presses Enter in a pane.
func (s Server) Enter(ctx context.Context, pane string) error {
	_, err := s.run(ctx, "send-keys", "-t", pane, "Enter")
	return err
}

// Erase presses Backspace in a pane, n times.
func (s Server) Erase(ctx context.Context, pane string, n int) error {
	_, err := s.run(ctx, "send-keys", "-t", pane, "-N", strconv.Itoa(n), "BSpace")
	return err
}

// run runs tmux and returns what it prints. Without -u it would print underscores for all that is not ASCII.
func (s Server) run(ctx context.Context, args ...string) (string, error) {
	timed, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	socket := "-L"
	if filepath.IsAbs(s.Socket) {
		socket = "-S"
	}
	cmd := exec.CommandContext(timed, "tmux", append([]string{"-u", socket, s.Socket}, args...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, time.Second
	err := cmd.Run()
	switch text := strings.TrimSpace(said.String()); {
	case err == nil:
		return out.String(), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case gone(text):
		return "", fmt.Errorf("%w: %s", ErrGone, text)
	default:
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, text)
	}
}

// gone reports whether tmux says that a pane, or its server, is not there.
func gone(said string) bool {
	for _, begin := range []string{"no server running on ", "error connecting to ", "can't find pane", "server exited", "lost server"} {
		if strings.HasPrefix(said, begin) {
			return !strings.HasSuffix(said, "(Permission denied)")
		}
	}
	return false
}
